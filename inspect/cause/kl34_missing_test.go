package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestMissingObject(t *testing.T) {
	const noSecret = `container web: env: secret "keys" not found`
	fails := func(err string) trace.Action {
		return trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web", Code: "CreateContainerConfigError", Err: err, Missing: trace.MissingIn(err)}
	}
	retry := trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CreateContainerConfigError"}
	run(t, "KL34", []script{
		{
			name: "a Secret", now: 9 * sec, cost: 8 * sec, current: true, want: "container web needs secret shop/keys, which does not exist",
			write: func(s *casetest.Script) { s.Action(sec, 1010*ms, fails(noSecret)) },
		},
		{
			name: "a key", now: 9 * sec, cost: 8 * sec, current: true, want: "container web needs key pw of secret shop/keys, which does not exist",
			write: func(s *casetest.Script) {
				s.Action(sec, 1010*ms, fails("container web: env: couldn't find key pw in Secret shop/keys"))
			},
		},
		{
			name: "a volume's ConfigMap", now: 9 * sec, cost: 8 * sec, current: true, want: "volume conf needs configmap shop/app, which does not exist (it failed twice)",
			write: func(s *casetest.Script) {
				const err = `setup of volume "conf" (kubernetes.io/configmap) failed: configmap "app" not found`
				v := &trace.Volume{Op: trace.VolumeSetup, Name: "conf", Plugin: "kubernetes.io/configmap", Err: err, Class: trace.FailObject, Missing: trace.MissingIn(err)}
				s.Span(sec, 1010*ms, 0, v)
				s.Span(2*sec, 2010*ms, 0, v)
			},
		},
		{
			name: "a volume's Secret, in a step that waits for it", now: 9 * sec, cost: 7900 * ms, current: true, want: "volume conf needs secret shop/keys, which does not exist",
			write: func(s *casetest.Script) {
				const err = `setup of volume "conf" (kubernetes.io/secret) failed: secret "keys" not found`
				step := s.Action(sec, 1200*ms, trace.Action{ID: "volumes", Verb: trace.VerbVolumes, Err: err, Missing: trace.MissingIn(err)})
				s.Span(1100*ms, 1110*ms, step, &trace.Volume{Op: trace.VolumeSetup, Name: "conf", Plugin: "kubernetes.io/secret", Err: err, Class: trace.FailObject, Missing: trace.MissingIn(err)})
			},
		},
		{
			name: "it came later", cost: 2 * sec, want: "container web needs secret shop/keys, which does not exist",
			write: func(s *casetest.Script) {
				s.Action(sec, 1010*ms, fails(noSecret))
				s.Wait(1010*ms, 3*sec, 0, retry)
				s.Action(3*sec, 3050*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web"})
				s.Action(3050*ms, 3100*ms, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"}, "create web")
				s.Started(3100 * ms)
			},
		},
		{
			name: "not: the API server is slow",
			write: func(s *casetest.Script) {
				s.Wait(0, 3*sec, 0, trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetSecret, Namespace: "shop", Name: "keys"}})
				start(s, 3*sec)
			},
		},
		{
			name: "not: a program that says so", now: 9 * sec,
			write: func(s *casetest.Script) {
				s.Action(sec, 1010*ms, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web", Code: "RunContainerError", Err: notInPath + noSecret})
			},
		},
	})
}

func TestRefused(t *testing.T) {
	run(t, "KL35", []script{
		{
			name: "too little CPU", now: 9 * sec, current: true, want: "the kubelet rejected the pod (OutOfcpu): the node has too little cpu left",
			write: func(s *casetest.Script) {
				s.Point(sec, 0, &trace.Decision{By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictReject, Code: "OutOfcpu", Reason: "OutOfcpu: requested 4, used 1, capacity 2"})
				s.Point(sec, 0, &trace.PodStatus{Phase: trace.PodFailed, Reason: "OutOfcpu"})
			},
		},
		{
			name: "as its status tells it", now: 9 * sec, current: true, want: "the kubelet rejected the pod (NodePorts)",
			write: func(s *casetest.Script) {
				s.Point(sec, 0, &trace.PodStatus{Phase: trace.PodFailed, Reason: "NodePorts"})
			},
		},
		{
			name: "deadline", now: 9 * sec, current: true, want: "the pod was active for longer than its activeDeadlineSeconds",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(5*sec, 0, &trace.Decision{By: trace.ByDeadline, Subject: "shop/web", Verdict: trace.VerdictEnd, Code: "DeadlineExceeded", Reason: "too long"})
			},
		},
		{
			name: "not: admitted", now: 9 * sec,
			write: func(s *casetest.Script) {
				s.Point(sec, 0, &trace.Decision{By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictAdmit, Reason: "all checks passed"})
			},
		},
		{
			name: "not: failed by itself", now: 9 * sec,
			write: func(s *casetest.Script) { start(s, 300*ms); ended(s, 5*sec, trace.PodFailed, exitedWith(1)) },
		},
	})
}
