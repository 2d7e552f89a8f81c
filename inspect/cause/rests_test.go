package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A pod that ended by itself is over once the node is done with it, though it is there until
// somebody deletes it.
func TestPodThatEndedByItselfRests(t *testing.T) {
	job := trace.Pod{Namespace: "shop", Name: "job", UID: "1"}
	for _, c := range []struct {
		name  string
		phase string
		write func(*tape.Tape)
		want  cause.Stage
	}{
		{"not done yet", "Succeeded", func(*tape.Tape) {}, cause.Ending},
		{"done", "Succeeded", func(tp *tape.Tape) {
			tp.Point(3*sec, job, 0, &trace.Worker{From: trace.WorkerTerminating, To: trace.WorkerTerminated})
		}, cause.Over},
		{"done, and it failed", "Failed", func(tp *tape.Tape) {
			tp.Point(3*sec, job, 0, &trace.Worker{From: trace.WorkerTerminating, To: trace.WorkerTerminated})
		}, cause.Over},
		{"deleted, and still in the API", "Succeeded", func(tp *tape.Tape) {
			tp.Point(3*sec, job, 0, &trace.Worker{From: trace.WorkerTerminating, To: trace.WorkerTerminated})
			tp.Point(4*sec, job, 0, &trace.Source{Source: trace.SourceAPI, Op: trace.OpDelete})
		}, cause.Ending},
	} {
		t.Run(c.name, func(t *testing.T) {
			tp := tape.New()
			tp.Point(0, job, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI})
			tp.Point(sec, job, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: sec})
			tp.Point(2*sec, job, 0, &trace.PodStatus{Phase: trace.PodPhase(c.phase), Total: 1})
			tp.Point(2*sec, job, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
			c.write(tp)
			recs := tp.Records()
			got := &cause.Case{Pod: job, Records: recs, Now: recs[len(recs)-1].At().Add(time.Hour)}
			if got.Stage() != c.want {
				t.Errorf("stage %s, want %s", got.Stage(), c.want)
			}
			if f := cause.Find(got); c.want == cause.Over && len(f) > 0 {
				t.Errorf("found %+v, want nothing", f)
			}
		})
	}
}
