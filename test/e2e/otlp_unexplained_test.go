package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestUnexplained starts pods one by one and many at once: what no record covers of their
// starts is a small part of them.
func TestUnexplained(t *testing.T) {
	const single, burst = 10, 20
	n := newNode(t)
	a := n.start()
	var names []string
	put := func(i int) string {
		name := fmt.Sprintf("pod%d", i)
		n.put(name+".yaml", sleeper(name, "$BUSYBOX", "IfNotPresent"))
		names = append(names, name)
		return name
	}
	for i := range single {
		a.ready(put(i))
	}
	for i := range burst {
		put(single + i)
	}
	a.ready(names[single:]...)

	recs, _ := a.since(0)
	pods := map[string]trace.Pod{}
	for _, r := range recs {
		pods[r.Pod.Name] = r.Pod
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"one by one", names[:single]}, {"at once", names[single:]}} {
		var total, dark time.Duration
		worst := &waterfall.Waterfall{Unexplained: -1}
		for _, name := range part.names {
			w, err := waterfall.Build(recs, pods[n.pod(name)])
			if err != nil {
				t.Fatal(err)
			}
			total, dark = total+w.Length(), dark+w.Unexplained
			if w.Unexplained > worst.Unexplained {
				worst = w
			}
		}
		percent := 100 * dark.Seconds() / total.Seconds()
		t.Logf("%s: %d starts, %v in all, unexplained %v (%.2f %%), at most %v", part.what, len(part.names), total, dark, percent, worst.Unexplained)
		if percent > 2 {
			t.Errorf("%s: more than 2 %% is unexplained; worst:\n%s", part.what, worst.Text(120, waterfall.TextOptions{}))
		}
	}
}
