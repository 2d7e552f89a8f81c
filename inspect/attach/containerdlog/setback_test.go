package containerdlog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/containerdlog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestSetBack follows a log whose clock is set back: a pod that starts after that is told to have started as soon as others, and what was
// told before that is not held back any longer.
func TestSetBack(t *testing.T) {
	for _, by := range []time.Duration{0, 50 * time.Second, 2 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			f := containerdlog.NewFold(containerdlog.Options{Hold: 2 * time.Second})
			toldAt := map[string]time.Duration{}
			until := func(at time.Time) {
				f.Until(at.UnixNano())
				for r, _, ok := f.Next(false); ok; r, _, ok = f.Next(false) {
					switch e := r.Event.(type) {
					case *trace.Milestone:
						if e.Name == trace.MilestoneStarted {
							toldAt[r.Pod.Name] = at.Sub(t0)
						}
					case *trace.Log:
						toldAt[e.Message] = at.Sub(t0)
					}
				}
			}
			line := func(at time.Time, level, msg string) {
				l, ok := containerdlog.ParseLine(fmt.Sprintf("time=%q level=%s msg=%q", at.Format(time.RFC3339Nano), level, msg))
				if !ok {
					t.Fatal(msg)
				}
				f.Apply(&l)
			}
			line(t0.Add(by), "info", "loading plugin")
			line(t0.Add(by+4*time.Second), "warning", "before")
			until(t0.Add(by + 4*time.Second))
			at := t0.Add(10 * time.Second)
			for i, msg := range []string{
				`RunPodSandbox for name:"web" uid:"u1" namespace:"shop"`, `RunPodSandbox for name:"web" uid:"u1" namespace:"shop" returns sandbox id "` + box + `"`,
				`CreateContainer within sandbox "` + box + `" for container name:"app"`, `CreateContainer within sandbox "` + box + `" for name:"app" returns container id "` + app + `"`,
				`StartContainer for "` + app + `"`, `StartContainer for "` + app + `" returns successfully`,
			} {
				line(at.Add(time.Duration(i)*100*time.Millisecond), "info", strings.TrimSpace(msg))
			}
			for s := 11; s < 120; s++ {
				until(t0.Add(time.Duration(s) * time.Second))
			}
			// 10 s after its container, and a record is held for 2 s.
			if at := toldAt["web"]; at < 20*time.Second || at > 24*time.Second {
				t.Errorf("told at %v", at)
			}
			most := 12 * time.Second
			if by < time.Minute { // lines may be out of order
				most = max(most, by+7*time.Second)
			}
			if at, ok := toldAt["before"]; !ok || at > most {
				t.Errorf("before: told at %v, %v", at, ok)
			}
		})
	}
}
