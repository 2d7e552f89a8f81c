package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// durationOf is a number as a factor of durations.
func durationOf(n uint64) time.Duration { return time.Duration(n) }

func TestStuckTerminating(t *testing.T) {
	kill := func(s *casetest.Script, from, to time.Duration) {
		act := s.Action(from, to, trace.Action{ID: "kill web", Verb: trace.VerbKill, Container: "web"})
		s.Wait(from, to, act, trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Limit: 30 * time.Second})
	}
	end := func(s *casetest.Script) { s.Milestone(10*sec, trace.MilestoneTerminating) }
	run(t, "KL17", []script{
		{
			name: "a container that ignores TERM", want: "its termination was delayed by container web, which did not exit in its grace period: 30.2s", cost: 30200 * ms, found: true,
			write: func(s *casetest.Script) {
				end(s)
				kill(s, 10*sec, 40200*ms)
				s.Action(40200*ms, 40300*ms, trace.Action{ID: "unmount", Verb: trace.VerbUnmount})
				s.Milestone(41*sec, trace.MilestoneGone)
			},
		},
		{
			name: "a container that the kernel does not let go", want: "its termination is stuck in the exit of container web, which continues after the kill", cost: 90 * sec, current: true, found: true, now: 100 * sec,
			write: func(s *casetest.Script) {
				end(s)
				kill(s, 10*sec, casetest.Open)
			},
		},
		{
			name: "a hook that takes all", want: "its termination was delayed by the preStop hook of container web", cost: 20 * sec, found: true,
			write: func(s *casetest.Script) {
				end(s)
				act := s.Action(10*sec, 30*sec, trace.Action{ID: "pre-stop web", Verb: trace.VerbPreStop, Container: "web"})
				s.Wait(10*sec, 30*sec, act, trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetHook, Name: "preStop", Container: "web"}, Limit: 20 * time.Second})
				s.Milestone(33*sec, trace.MilestoneGone)
			},
		},
		{
			name: "a volume that stays busy", want: "its termination is stuck in the unmounting of its volumes: 50.0s so far", cost: 50 * sec, current: true, found: true, now: 60 * sec,
			write: func(s *casetest.Script) {
				end(s)
				for at := 10 * sec; at < 60*sec; at += 10 * sec {
					act := s.Action(at, at+100*ms, trace.Action{ID: "unmount", Verb: trace.VerbUnmount, Err: "teardown of volumes not done"})
					s.Span(at, at+100*ms, act, &trace.Volume{Op: "teardown", Name: "data", Plugin: csiPlugin, Err: "target is busy"})
				}
			},
		},
		{
			name: "processes that do not die", want: "its termination is stuck in the removal of its cgroup", cost: 10 * sec, current: true, found: true, now: 20 * sec,
			write: func(s *casetest.Script) {
				end(s)
				act := s.Action(10*sec, 13*sec, trace.Action{ID: "remove-cgroup", Verb: trace.VerbRemoveCgroup, Err: "processes [7] do not die"})
				s.Span(10*sec, 13*sec, act, &trace.CgroupOp{Op: "destroy", Path: "/kubepods/podu", Err: "processes [7] do not die"})
			},
		},
		{
			name: "a finalizer", want: "its termination is stuck in the API server, which still has the object", cost: 39 * sec, current: true, found: true, now: 50 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				end(s)
				s.Span(10900*ms, 11*sec, 0, &trace.StatusPatch{Op: trace.PatchDelete})
			},
		},
		{
			name: "a finalizer, with the spec", want: "its termination is stuck in the API server, which still has the object after nothing is left of the pod here (it had the finalizers a/b)",
			cost: 39 * sec, current: true, now: 50 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				s.Finalizers("a/b")
				end(s)
				s.Span(10900*ms, 11*sec, 0, &trace.StatusPatch{Op: trace.PatchDelete})
			},
		},
		{
			name: "a finalizer that was removed", want: "its termination was delayed by the API server, which still had the object", cost: 29 * sec, found: true, now: 50 * sec,
			confidence: cause.Likely,
			write: func(s *casetest.Script) {
				end(s)
				s.Action(10500*ms, 10510*ms, trace.Action{ID: "remove-cgroup", Verb: trace.VerbRemoveCgroup})
				s.Span(10900*ms, 11*sec, 0, &trace.StatusPatch{Op: trace.PatchDelete})
				s.Action(39*sec, 39010*ms, trace.Action{ID: "remove-cgroup", Verb: trace.VerbRemoveCgroup}) // once more, to be sure
				s.Milestone(40*sec, trace.MilestoneGone)
			},
		},
		{
			name: "not: the object goes with the agent's delete", found: true, now: 50 * sec,
			write: func(s *casetest.Script) {
				end(s)
				s.Span(10900*ms, 11*sec, 0, &trace.StatusPatch{Op: trace.PatchDelete})
				s.Milestone(11100*ms, trace.MilestoneGone)
			},
		},
		{
			name: "the API server is away", want: "its termination is stuck in the write of its termination to the API server", cost: 39 * sec, current: true, found: true, now: 50 * sec,
			write: func(s *casetest.Script) {
				end(s)
				s.Span(11*sec, 12*sec, 0, &trace.StatusPatch{Op: trace.PatchStatus, Err: "connection refused"})
				s.Span(31*sec, 32*sec, 0, &trace.StatusPatch{Op: trace.PatchStatus, Err: "connection refused"})
			},
		},
		{
			name: "not: within its grace period", found: true, now: 35 * sec,
			write: func(s *casetest.Script) { end(s); kill(s, 10*sec, casetest.Open) },
		},
		{
			name: "not: it ended by itself", found: true,
			write: func(s *casetest.Script) { end(s); kill(s, 10*sec, 28*sec); s.Milestone(29*sec, trace.MilestoneGone) },
		},
		{
			name: "not: over, and nobody deletes it", found: true, now: time.Hour,
			write: func(s *casetest.Script) {
				end(s)
				s.Action(10*sec, 10100*ms, trace.Action{ID: "unmount", Verb: trace.VerbUnmount})
				s.Span(11*sec, 11100*ms, 0, &trace.StatusPatch{Op: trace.PatchStatus})
			},
		},
		{
			name: "not: a slow step of the start", now: 60 * sec,
			write: func(s *casetest.Script) {
				s.Action(0, 20*sec, trace.Action{ID: "remove-sandbox x", Verb: trace.VerbRemoveSandbox})
				s.Action(20*sec, casetest.Open, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
			},
		},
	})
}
