package node

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects come from the watch and from responses at the same time: whoever follows them must end with the newest.
func TestSeenInOrder(t *testing.T) {
	var w *world
	object := func(version string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", ResourceVersion: version}}
	}
	next := make(chan struct{})
	var got []string
	w = newWorld(t, func(c *Config) {
		c.Seen = func(o *v1.Node) {
			if o.ResourceVersion == "1" {
				go func() { w.see(object("2")); close(next) }()
				select {
				case <-next:
				case <-time.After(20 * time.Millisecond): // it waits, as it must
				}
			}
			got = append(got, o.ResourceVersion)
		}
	})
	w.see(object("1"))
	<-next
	if want := []string{"1", "2"}; !slices.Equal(got, want) {
		t.Errorf("the objects are seen in the order %v, want %v", got, want)
	}
}
