package podobject

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestSeen: a pod's start begins when it was told, or at the kubelet's own note where that is more exact; one that was there before has not
// started just now.
func TestSeen(t *testing.T) {
	now := time.Unix(1000, 700_000_000)
	for _, c := range []struct {
		name    string
		first   bool // among those that were there at first
		late    time.Duration
		start   int64 // 0: not noted
		started bool
		want    string
	}{
		{name: "told at once", late: 5 * time.Millisecond, want: "seen 0s ago ±5ms"},
		{name: "told at once, with a note", late: 5 * time.Millisecond, start: 1000, want: "seen 0s ago ±5ms"},
		{name: "a poll without a note", late: 3 * time.Second, want: "seen 0s ago ±3s"},
		{name: "a poll", late: 3 * time.Second, start: 998, want: "seen 2.7s ago ±1s"},
		{name: "a poll, started in between", late: 3 * time.Second, start: 998, started: true, want: "seen 2.7s ago ±1s, started 0s ago ±4s"},
		{name: "a late poll", late: 27 * time.Second, start: 975, want: "seen 25.7s ago ±1s"},
		{name: "there before", late: 5 * time.Millisecond, start: 990, want: "seen 10.7s ago ±1s"},
		{name: "there before, and started", late: 5 * time.Millisecond, start: 990, started: true},
		{name: "there at first", first: true, late: time.Second, start: 1000, want: "seen 700ms ago ±1s"},
		{name: "there at first, without a note", first: true, late: time.Second},
		{name: "there at first, and started", first: true, late: time.Second, start: 999, started: true},
		{name: "a note of the future", late: 3 * time.Second, start: 1002, want: "seen 0s ago ±1s"},
	} {
		f := NewFold(trace.ObserverKubeletAPI, time.Minute)
		f.Late(c.late)
		if !c.first {
			f.Synced()
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u1"}, Spec: v1.PodSpec{Containers: make([]v1.Container, 1)}}
		pod.Status.Phase = v1.PodPending
		if c.start != 0 {
			pod.Status.StartTime = &metav1.Time{Time: time.Unix(c.start, 0)}
		}
		if c.started {
			pod.Status.Phase = v1.PodRunning
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
		}
		var got []string
		for _, r := range f.Apply(pod, now) {
			if e, ok := r.Event.(*trace.Milestone); ok {
				got = append(got, fmt.Sprintf("%s %s ago ±%s", e.Name, now.Sub(r.At()), r.Precision.Duration()))
			}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
