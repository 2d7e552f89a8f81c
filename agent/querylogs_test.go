package agent

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// TestNewest: after a restart, it is the new container's log.
func TestNewest(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	pod := &podstate.Pod{Containers: []podstate.Container{
		{ID: "side", Name: "side", CreatedAt: at(9)}, {ID: "old", Name: "main", CreatedAt: at(1)}, {ID: "new", Name: "main", CreatedAt: at(5), Attempt: 1},
	}}
	if c := newest(pod, "main"); c == nil || c.ID != "new" {
		t.Errorf("got %+v, want the container new", c)
	}
	if c := before(pod, newest(pod, "main")); c == nil || c.ID != "old" {
		t.Errorf("got %+v, want the container old", c)
	}
	for _, c := range []*podstate.Container{&pod.Containers[0], &pod.Containers[1]} {
		if c := before(pod, c); c != nil {
			t.Errorf("got %+v before the first container", c)
		}
	}
	if c := newest(pod, "other"); c != nil {
		t.Errorf("got %+v of a name that is not there", c)
	}
	if c := newest(nil, "main"); c != nil {
		t.Errorf("got %+v of a pod that the runtime does not have", c)
	}
}
