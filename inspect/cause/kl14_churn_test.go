package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSandboxChurn(t *testing.T) {
	first := func(s *casetest.Script) {
		s.Action(0, 300*ms, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox"})
		start(s, 300*ms, "sandbox")
		s.Point(340*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
	}
	replace := func(s *casetest.Script, from, to time.Duration) {
		s.Action(from, to, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "sandbox 5f is not ready", Replaces: trace.SandboxNotReady})
	}
	run(t, "KL14", []script{
		{
			name: "it fails and fails", want: "the sandbox was not created in 2 attempts; most recently because the runtime failed to create it: no shim", cost: 2 * sec, current: true, now: 10 * sec,
			write: func(s *casetest.Script) {
				sandboxFails(s, 0, 3*sec, "no shim")
				sandboxFails(s, 3*sec, casetest.Open, "no shim")
			},
		},
		{
			name: "replaced while the pod is down", want: "the sandbox was replaced once; most recently because sandbox 5f is not ready", cost: 3 * sec, current: true, now: 63 * sec,
			write: func(s *casetest.Script) {
				first(s)
				s.Point(60*sec, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 0, Total: 1})
				replace(s, 60*sec, casetest.Open)
			},
		},
		{
			name: "again and again, and up now", want: "the sandbox was replaced twice; most recently because sandbox 5f is not ready",
			write: func(s *casetest.Script) {
				first(s)
				replace(s, 60*sec, 61*sec)
				replace(s, 90*sec, 91*sec)
			},
		},
		{name: "not: the first", write: first},
		{name: "not: once, and up again", write: func(s *casetest.Script) { first(s); replace(s, 60*sec, 61*sec) }},
		{
			name: "not: one failure", now: 10 * sec,
			write: func(s *casetest.Script) { sandboxFails(s, 0, casetest.Open, "no shim") },
		},
		{
			name: "not: CNI, which has a rule of its own", now: 10 * sec,
			write: func(s *casetest.Script) {
				sandboxFails(s, 0, 3*sec, broken)
				sandboxFails(s, 3*sec, casetest.Open, broken)
			},
		},
	})
}
