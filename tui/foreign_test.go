package tui

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

// TestForeign looks at views of a kubelet that is not kubeloupe's agent: they claim nothing that only the agent knows.
func TestForeign(t *testing.T) {
	for _, c := range []struct{ keys, has, hasNot string }{
		{"x", "which are not known here", "eviction is not supported"},
		{"8", "kubelet cpu -", "agent"},
		{"6", "no pod now", "seen yet"},
		{"n", "what this kubelet gave to containers is not known", "nothing is exclusive"},
		{"7", "of another kubelet behind", "no pod"},
	} {
		bubble(t, c.keys, func(t *testing.T) {
			d := drive(t, Config{}, 120, 40)
			rec := trace.Record{Seq: 1, Time: tuitest.Epoch.UnixNano(), Observer: trace.ObserverKubeletLog, Event: &trace.Log{Message: "Starting kubelet main sync loop"}}
			d.app.apply([]chunk{{recs: []trace.Record{rec}}})
			d.app.setNow()
			d.app.refresh()
			if got := d.keys(c.keys).screen(); !strings.Contains(got, c.has) || strings.Contains(got, c.hasNot) {
				t.Errorf("want %q and not %q:\n%s", c.has, c.hasNot, got)
			}
		})
	}
}
