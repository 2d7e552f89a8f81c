package podruntime

import (
	"context"
	"errors"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// warned returns the messages of the warnings with that reason.
func warned(w *world, reason string) (out []string) {
	for _, e := range tracetest.Events[trace.NodeEvent](w.rec) {
		if e.Reason == reason && e.Type == trace.EventWarning {
			out = append(out, e.Message)
		}
	}
	return out
}

// Each attempt that fails to stop something of a pod is an Event of the pod. One that was canceled is none, nor is a claim that its driver
// does not release.
func TestFailedKillPod(t *testing.T) {
	for _, c := range []struct {
		name, op string
		canceled bool
		want     []string
	}{
		{name: "container", op: "stop web-0", want: []string{"error killing pod: kill web: stop container web: busy", "error killing pod: kill web: stop container web: busy"}},
		{name: "sandbox", op: "stop sandbox sb0", want: []string{
			"error killing pod: stop-sandbox sb0: stop sandbox sb0: busy", "error killing pod: stop-sandbox sb0: stop sandbox sb0: busy",
		}},
		{name: "canceled", op: "stop web-0", canceled: true},
		{name: "claims", op: "release claims of uid"},
		{name: "stopped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				w.rt.cfg.Claims = &fakeClaims{world: w, held: true}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w.on(c.op, func(context.Context) error {
					if c.canceled {
						cancel()
					}
					return errors.New("busy")
				})
				for range 2 {
					w.shows(seen("sandbox:0", "web=running"))
					if err := w.rt.Kill(ctx, always("web"), nil, "deleted", 1); (err != nil) != (c.op != "") {
						t.Errorf("error %v", err)
					}
				}
				equal(t, "events", c.want, warned(w, "FailedKillPod"))
			})
		})
	}
}
