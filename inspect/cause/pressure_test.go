package cause_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// working is a start whose sandbox takes two seconds, with figures of each.
func working(figures func(*casetest.Script, time.Duration)) func(*casetest.Script) {
	return func(s *casetest.Script) {
		s.Action(0, 1960*ms, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
		start(s, 1960*ms, "sandbox")
		figures(s, sec)
		figures(s, 2*sec)
	}
}

// waiting is one that waits for a probe instead.
func waiting(figures func(*casetest.Script, time.Duration)) func(*casetest.Script) {
	return func(s *casetest.Script) {
		s.Wait(0, 1960*ms, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}})
		start(s, 1960*ms)
		figures(s, sec)
		figures(s, 2*sec)
	}
}

func of(busy int, stalls ...trace.Stall) func(*casetest.Script, time.Duration) {
	return func(s *casetest.Script, at time.Duration) { usage(s, at, busy, stalls...) }
}

func TestCPUPressure(t *testing.T) {
	noPSI := func(busy int, delay time.Duration) func(*casetest.Script, time.Duration) {
		return func(s *casetest.Script, at time.Duration) {
			s.PointOf(node(), at, 0, &trace.Usage{Interval: sec, CPUs: 2, Busy: 2 * sec * time.Duration(busy) / 100, RunDelay: delay})
		}
	}
	run(t, "KL23", []script{
		{
			name: "stalls", want: "tasks of the node stalled for a processor 70 % of the time in which the pod worked (70 % at worst), about 1.40s of it", cost: 1400 * ms, confidence: cause.Likely,
			write: working(of(97, stall("cpu", 70))),
		},
		{
			name: "a kernel without PSI", want: "tasks of the node stalled for a processor 30 % of the time", cost: 600 * ms, confidence: cause.Likely,
			write: working(noPSI(100, 300*ms)),
		},
		{name: "not: busy, and nobody waits", write: working(of(100, stall("cpu", 20)))},
		{name: "not: some waits, and room is left", write: working(of(60, stall("cpu", 70)))},
		{name: "not: no PSI, busy, and the agent does not wait", write: working(noPSI(100, 20*ms))},
		{name: "not: the pod only waited", write: waiting(of(97, stall("cpu", 70)))},
		{
			name: "not: an interval that tells little of so short a start",
			write: func(s *casetest.Script) {
				start(s, 100*ms)
				s.PointOf(node(), 10*sec, 0, &trace.Usage{Interval: 10 * sec, CPUs: 2, Busy: 20 * sec, Stalls: []trace.Stall{{Resource: trace.ResourceCPU, Some: 9 * sec}}})
			},
		},
	})
}

// memory tells of a second in which tasks stalled for memory, in percent of it. available is in percent of the node's memory, reclaims are those
// of the node's own.
func memory(percent int, available, reclaims int64) func(*casetest.Script, time.Duration) {
	return func(s *casetest.Script, at time.Duration) {
		s.PointOf(node(), at, 0, &trace.Usage{
			Interval: sec, CPUs: 2, Busy: sec, Stalls: []trace.Stall{stall("memory", percent)},
			Memory: &trace.Memory{Total: 100 << 20, Available: available << 20, Reclaims: reclaims},
		})
	}
}

func TestMemoryPressure(t *testing.T) {
	short := func(percent int) func(*casetest.Script, time.Duration) { return memory(percent, 10, 0) }
	run(t, "KL24", []script{
		{
			name: "stalls, and little is available", want: "tasks of the node stalled for memory 15 % of the time", cost: 300 * ms, confidence: cause.Likely,
			write: working(short(15)),
		},
		{
			name: "stalls, and tasks reclaim", want: "tasks of the node stalled for memory 15 % of the time", cost: 300 * ms, confidence: cause.Likely,
			write: working(memory(15, 40, 2)),
		},
		{name: "not: a cgroup at its own limit", write: working(memory(60, 40, 0))},
		{name: "not: a cgroup at its own limit, and a reclaim that explains little", write: working(memory(60, 40, 6))},
		{name: "not: a kernel that does not say how much is available", write: working(of(50, stall("memory", 60)))},
		{
			name: "while the pod ends", want: "tasks of the node stalled for memory 40 % of the time in which the pod terminated (40 % at worst), about 400ms of its 1.00s (40 %)", cost: 400 * ms, confidence: cause.Likely, found: true,
			write: func(s *casetest.Script) {
				s.Milestone(9*sec, trace.MilestoneTerminating)
				short(40)(s, 10*sec)
				s.Milestone(10*sec, trace.MilestoneGone)
			},
		},
		{
			name: "while it ended, after a quick start", want: "tasks of the node stalled for memory 40 % of the time in which the pod terminated (40 % at worst), about 800ms of its 4.00s (20 %)",
			cost: 800 * ms, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Milestone(5*sec, trace.MilestoneTerminating)
				s.Wait(5*sec, 7*sec, 0, trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}})
				for at := 6 * sec; at <= 9*sec; at += sec {
					short(40)(s, at)
				}
				s.Milestone(9*sec, trace.MilestoneGone)
			},
		},
		{
			name: "not: it waited for its container to end", found: true,
			write: func(s *casetest.Script) {
				s.Milestone(5*sec, trace.MilestoneTerminating)
				s.Wait(5*sec, 9*sec, 0, trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}})
				short(60)(s, 8*sec)
				s.Milestone(9*sec, trace.MilestoneGone)
			},
		},
		{name: "not: little", write: working(short(4))},
		{name: "not: another resource", write: working(of(50, stall("io", 90)))},
		{name: "not: the pod only waited", write: waiting(short(60))},
	})
}

func TestIOPressure(t *testing.T) {
	run(t, "KL25", []script{
		{
			name: "stalls", want: "tasks of the node stalled for a disk 45 % of the time", cost: 900 * ms, confidence: cause.Likely,
			write: working(of(50, stall("io", 45))),
		},
		{name: "not: little", write: working(of(50, stall("io", 20)))},
		{name: "not: no figures of it", write: working(of(50))},
		{
			name: "not: before the pod and after",
			write: func(s *casetest.Script) {
				s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				start(s, sec, "sandbox")
				usage(s, 5*sec, 10, stall("io", 99))
			},
		},
	})
}

// TestWhoseFigures: the figures of a kubelet that is watched are not the agent's.
func TestWhoseFigures(t *testing.T) {
	s := casetest.New(t)
	working(func(s *casetest.Script, at time.Duration) {
		s.PointOf(node(), at, 0, &trace.Usage{Interval: sec, CPUs: 2, Busy: 2 * sec, RunDelay: 30 * ms, Stalls: []trace.Stall{stall("cpu", 70)}})
	})(s)
	for observer, who := range map[trace.Observer]string{trace.ObserverAgent: "the agent", trace.ObserverKernel: "the kubelet"} {
		c := s.Case(0)
		for _, r := range c.Node {
			r.Observer = observer
		}
		f := casetest.One(t, c, "KL23")
		want := "in 1.00s the 2 processors were busy 100 %, tasks stalled 700ms for cpu, " + who + "'s threads waited 30ms for a processor, " + who + " itself used 0ms"
		if f == nil || f.Evidence[0].Text != want {
			t.Errorf("%s: got %+v, want %s", observer, f, want)
		}
	}
}

// TestPressureOfStartAndEnd: what the end cost is no part of what the start cost.
func TestPressureOfStartAndEnd(t *testing.T) {
	s := casetest.New(t)
	working(of(97, stall("cpu", 70)))(s)
	s.Milestone(10*sec, trace.MilestoneTerminating)
	for at := 11 * sec; at <= 15*sec; at += sec {
		usage(s, at, 97, stall("cpu", 70))
	}
	s.Milestone(15*sec, trace.MilestoneGone)
	c := s.Case(0)
	var got []string
	for _, f := range cause.Find(c) {
		if f.ID != "KL23" {
			continue
		}
		if whole := max(f.End, c.Waterfall.Length()); f.Cost > whole {
			t.Errorf("a cost of %v, of %v", f.Cost, whole)
		}
		got = append(got, f.Sentence)
	}
	want := []string{
		"tasks of the node stalled for a processor 70 % of the time in which the pod terminated (70 % at worst), about 3.50s of its 5.00s (70 %)",
		"tasks of the node stalled for a processor 70 % of the time in which the pod worked (70 % at worst), about 1.40s of it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
