package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// stop has the agent not run for that long before at, its threads waiting for a processor for a part of it.
func stop(s *casetest.Script, at, long, waited time.Duration) {
	s.PointOf(node(), at, 0, &trace.Usage{Interval: long + sec, Late: long, CPUs: 2, Busy: 100 * ms, RunDelay: waited})
}

func TestAgentStopped(t *testing.T) {
	sandbox := func(s *casetest.Script, to time.Duration) {
		act := s.Action(100*ms, to, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
		s.Call(100*ms, to, act, "RunPodSandbox", "")
		s.Started(to + 100*ms)
		s.Milestone(to+200*ms, trace.MilestoneReady)
	}
	run(t, "KL40", []script{
		{
			name: "stopped in a call", want: "the agent itself was stopped for 9.00s while the pod started", cost: 9 * sec,
			write: func(s *casetest.Script) { sandbox(s, 11*sec); stop(s, 10*sec, 9*sec, 5*ms) },
		},
		{
			name: "no processor for it", want: "the agent itself did not run for 3.00s while the pod started: it got no processor", cost: 3 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) { sandbox(s, 5*sec); stop(s, 4*sec, 3*sec, 2*sec) },
		},
		{
			name: "stopped while it terminated", want: "the agent itself was stopped for 20.0s while the pod terminated", cost: 20 * sec, found: true,
			write: func(s *casetest.Script) {
				s.Milestone(10*sec, trace.MilestoneTerminating)
				s.Action(10*sec, 33*sec, trace.Action{ID: "kill web", Verb: trace.VerbKill, Container: "web"})
				stop(s, 32*sec, 20*sec, 0)
				s.Milestone(34*sec, trace.MilestoneGone)
			},
		},
		{
			name: "not: an init container that runs longer still",
			write: func(s *casetest.Script) {
				s.Wait(sec, 20*sec, 0, trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: "first"}})
				sandbox(s, 21*sec)
				stop(s, 12*sec, 10*sec, 0)
			},
		},
		{
			name:  "not: before the pod",
			write: func(s *casetest.Script) { sandbox(s, 2*sec); stop(s, 0, 9*sec, 0) },
		},
		{
			name: "not: figures in time",
			write: func(s *casetest.Script) {
				sandbox(s, 11*sec)
				for at := sec; at < 11*sec; at += sec {
					stop(s, at, 0, 0)
				}
			},
		},
	})
}

// What the agent could not notice is no fault of the runtime, nor of a container.
func TestStoppedExplains(t *testing.T) {
	run(t, "KL15", []script{{
		name: "not: a status that the stopped agent read late",
		write: func(s *casetest.Script) {
			act := s.Action(100*ms, 11*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
			s.Call(100*ms, 10900*ms, act, "PodSandboxStatus", "")
			s.Started(11 * sec)
			s.Milestone(11*sec, trace.MilestoneReady)
			stop(s, 10800*ms, 10*sec, 0)
		},
	}})
	run(t, "KL17", []script{{
		name: "not: a container whose end the stopped agent saw late", found: true,
		write: func(s *casetest.Script) {
			s.Milestone(10*sec, trace.MilestoneTerminating)
			act := s.Action(10*sec, 70*sec, trace.Action{ID: "kill web", Verb: trace.VerbKill, Container: "web"})
			s.Wait(10*sec, 70*sec, act, trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Limit: 30 * time.Second})
			stop(s, 70*sec, 55*sec, 0)
			s.Milestone(71*sec, trace.MilestoneGone)
		},
	}})
}

// An agent that was stopped, and at another time got no processor, has both told of it, each with its own time.
func TestStoppedAndStarved(t *testing.T) {
	s := casetest.New(t)
	act := s.Action(100*ms, 5200*ms, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	s.Call(100*ms, 5200*ms, act, "RunPodSandbox", "")
	act = s.Action(5200*ms, 11*sec, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web"}, "sandbox")
	s.Call(5200*ms, 11*sec, act, "CreateContainer", "")
	s.Started(11 * sec)
	s.Milestone(11*sec, trace.MilestoneReady)
	stop(s, 5*sec, 4*sec, 0)
	stop(s, 10800*ms, 2*sec, 2*sec)
	var got []cause.Confidence
	var cost []time.Duration
	for _, f := range cause.Find(s.Case(12 * sec)) {
		if f.ID == "KL40" {
			got, cost = append(got, f.Confidence), append(cost, f.Cost)
		}
	}
	if len(got) != 2 || got[0] != cause.Certain || cost[0] != 4*sec || got[1] != cause.Likely || cost[1] != 2*sec {
		t.Errorf("%v, cost %v", got, cost)
	}
}
