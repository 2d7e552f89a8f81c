package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// pulling returns the records of n pods that all pull at once and forever.
func pulling(n int) []trace.Record {
	tp := tape.New()
	for i := range n {
		tp.Begin(time.Duration(i)*ms, trace.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i)}, 0, &trace.ImagePull{Image: "large"})
	}
	return tp.Records()
}

func apply(s *session.Session, recs []trace.Record) {
	for i := range recs {
		s.Apply(&recs[i])
	}
}

// TestCasesOfAllAreBounded: in the past, each of n pods that overlap with all others had the records of all others, n
// times n.
func TestCasesOfAllAreBounded(t *testing.T) {
	const others, least = 20_000, 500
	for _, n := range []int{100, 1000, 4000} {
		s := session.New(session.Options{Others: others})
		apply(s, pulling(n))
		sum, cut := 0, 0
		for l, c := range s.Cases(time.Time{}) {
			sum += len(c.Node)
			// For the run itself, it is known that it began before; for others, that there are more.
			if len(c.Node) < n-1 && !c.Incomplete {
				t.Fatalf("%s has %d records of %d others and says that it has all", l.Pod, len(c.Node), n-1)
			}
			if len(c.Node) < n-1 {
				cut++
			}
		}
		if sum > others+n*least {
			t.Errorf("%d pods: %d records in all cases, want %d at most", n, sum, others+n*least)
		}
		if n == 100 && cut > 0 {
			t.Errorf("%d of %d cases are cut where all fit", cut, n)
		}
	}
}

// TestManyPods: in the past, with many unfinished pods, each new one, each loss and each stop visited all that are
// kept.
func TestManyPods(t *testing.T) {
	s := session.New(session.Options{})
	recs := pulling(300_000)
	stop := trace.Record{Time: recs[len(recs)-1].Time, Event: &trace.Agent{State: trace.AgentStopping}}
	for i := range recs {
		s.Apply(&recs[i])
		if i%2 == 0 {
			s.Lost(1)
		} else {
			s.Apply(&stop)
		}
	}
	if n := len(s.Runs()); n > session.DefaultRuns || n < session.DefaultRuns/2 {
		t.Errorf("%d runs are kept", n)
	}
	for _, l := range s.Runs() {
		if last := l == s.Runs()[len(s.Runs())-1]; l.Incomplete() == last {
			t.Fatalf("%s: incomplete %v", l.Pod, l.Incomplete())
		}
	}
}

// TestManySpansOpen: in the past, the end of a span visited all kept open records, and all milestones.
func TestManySpansOpen(t *testing.T) {
	tp := tape.New()
	for i := range 100_000 {
		tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneStarted})
		tp.End(ms, tp.Begin(0, web, 0, &trace.Wait{For: trace.WaitLock, Note: fmt.Sprint(i)}), nil)
	}
	s := session.New(session.Options{})
	apply(s, tp.Recs)
	if n := len(s.Runs()[0].Records()); n > 2*session.DefaultPerRun {
		t.Errorf("%d records are kept", n)
	}
}
