package status

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The agent's own cost of one write.
func BenchmarkPatch(b *testing.B) {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}}
	api, want := start(), run()
	complete(p, &api, &want, false, time.Now())
	for b.Loop() {
		merged, _ := merge(p, &api, &want, false, time.Now())
		patch, err := patchOf(&object{uid: "u", status: api}, merged)
		changed, _ := changes(&api, merged)
		if err != nil || patch == "" || len(changed) == 0 {
			b.Fatal(patch, err)
		}
	}
}
