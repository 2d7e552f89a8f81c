package ship

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestStartsAreBounded: starts whose ends were lost do not keep later ones away.
func TestStartsAreBounded(t *testing.T) {
	s := New(Config{})
	for i := range int64(maxDue + 100) {
		pod := trace.Pod{Namespace: "n", Name: fmt.Sprint(i), UID: fmt.Sprint(i)}
		s.apply([]trace.Record{{Seq: uint64(i + 1), Time: i + 1, Pod: pod, Span: trace.SpanID(i + 1), Event: &trace.Milestone{Name: trace.MilestoneSeen}}}, 0)
		if s.starts[pod] == nil {
			t.Fatalf("start %d is not kept", i)
		}
	}
	if len(s.starts) != maxDue || len(s.due) != maxDue {
		t.Errorf("%d starts and %d trees that are due, want %d", len(s.starts), len(s.due), maxDue)
	}
}

// TestRoom: records of finished starts are dropped first, then those of the largest start; a small one stays.
func TestRoom(t *testing.T) {
	s := New(Config{})
	at := int64(1)
	put := func(pod string, e trace.Event) {
		at++
		s.apply([]trace.Record{{Seq: uint64(at), Time: at, Pod: trace.Pod{Namespace: "n", Name: pod, UID: pod}, Span: trace.SpanID(at), Event: e}}, 0)
	}
	fill := func(pod string, n int) {
		for range n {
			put(pod, &trace.Log{Message: strings.Repeat("x", 16<<10)})
		}
	}
	begin := func(pods ...string) {
		for _, pod := range pods {
			put(pod, &trace.Milestone{Name: trace.MilestoneSeen})
			fill(pod, 1900)
		}
	}
	kept := func() string {
		var out []string
		for _, l := range s.kept.Runs() {
			if n := len(l.Records()); n > 1 {
				out = append(out, fmt.Sprint(l.Pod.Name, " ", n))
			}
		}
		return strings.Join(out, ", ")
	}
	put("small", &trace.Milestone{Name: trace.MilestoneSeen})
	fill("small", 10)
	begin("done-1", "done-2")
	s.makeRoom()
	if got := kept(); got != "small 11, done-1 1901, done-2 1901" {
		t.Errorf("within the limit: %s; %d bytes", got, s.kept.Bytes())
	}
	begin("done-3", "large-1")
	for pod := range s.starts {
		if strings.HasPrefix(pod.Name, "done") {
			delete(s.starts, pod)
		}
	}
	s.makeRoom()
	if got := kept(); got != "small 11, large-1 1901" {
		t.Errorf("what is done: %s; %d bytes", got, s.kept.Bytes())
	}
	begin("large-2", "large-3", "large-4")
	s.makeRoom()
	if got := kept(); got != "small 11, large-4 1901" {
		t.Errorf("the largest: %s; %d bytes", got, s.kept.Bytes())
	}
}
