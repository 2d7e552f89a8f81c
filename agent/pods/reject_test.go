package pods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// noRoom is an error with which a pod is rejected.
type noRoom struct{}

func (noRoom) Error() string     { return "no room for volumes" }
func (noRoom) Rejection() string { return "NoRoom" }

// A pod that cannot start fails when an error says so. A pod that has started does not.
func TestRejectedAfterAdmission(t *testing.T) {
	for _, c := range []struct {
		name    string
		started bool
		err     error
		want    bool
	}{
		{"rejected", false, errors.Join(errors.New("image: no"), fmt.Errorf("volumes: %w", noRoom{})), true},
		{"another error", false, errors.New("volumes: no"), false},
		{"has started", true, noRoom{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.stop()
				pod := podOf("web", "u1")
				if c.started {
					b.send(podsource.OpAdd, pod)
				}
				b.rt.sync = func(context.Context, *v1.Pod) (podruntime.Outcome, error) { return podruntime.Outcome{}, c.err }
				if c.started {
					if res, err := b.syncer.Sync(t.Context(), pod, 1); res.Over || err == nil {
						t.Errorf("result %+v, error %v", res, err)
					}
				} else {
					b.send(podsource.OpAdd, pod)
				}
				b.cfg.Store.with("u1", func(e *entry) {
					switch {
					case (e.failed != nil) != c.want:
						t.Errorf("failed %+v", e.failed)
					case c.want && (e.failed.Reason != "NoRoom" || e.failed.Message != "Pod was rejected: no room for volumes"):
						t.Errorf("failed %+v", e.failed)
					}
				})
				var verdicts, told []string
				for _, d := range tracetest.Events[trace.Decision](b.rec) {
					if d.Verdict == trace.VerdictReject {
						verdicts = append(verdicts, d.Code)
					}
				}
				for _, e := range tracetest.Events[trace.NodeEvent](b.rec) {
					told = append(told, e.Reason+": "+e.Message)
				}
				if got := fmt.Sprint(verdicts, told); c.want != (got == "[NoRoom] [NoRoom: no room for volumes]") {
					t.Errorf("verdicts and Events %s", got)
				}
			})
		})
	}
}

// The status and the Event of a pod whose host port is taken do not name the other pod, which may be another team's. The decision does.
func TestRejectedForAnotherPod(t *testing.T) {
	d := newDesk(t, 0)
	d.send(podsource.OpAdd, podOf("other", "u1", hostPort(80)), podOf("web", "u2", hostPort(80)))
	d.asked("u1: ADD")
	const message = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
	d.decided("admission default/other: admit, all checks passed", "admission default/web: reject, "+message+" (host port 80/TCP is taken by default/other)")
	said := tracetest.Events[trace.PodStatus](d.rec)
	if s := said[len(said)-1]; s.Reason+": "+strings.TrimPrefix(s.Message, "Pod was rejected: ") != message {
		t.Errorf("status %+v", s)
	}
	events := tracetest.Events[trace.NodeEvent](d.rec)
	if e := events[len(events)-1]; e.Reason+": "+e.Message != message {
		t.Errorf("Event %+v", e)
	}
}
