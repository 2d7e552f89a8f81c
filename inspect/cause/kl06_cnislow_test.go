package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// plugin is a run of a CNI plugin as kubeloupe sees it.
func plugin(s *casetest.Script, parent trace.SpanID, from, to time.Duration, name, command string) trace.SpanID {
	return runtimeSpan(s, parent, from, to, "cni.plugin."+name, trace.KV{K: "cni.command", V: command}, trace.KV{K: "cni.ifname", V: "eth0"})
}

func TestSlowCNI(t *testing.T) {
	sandbox := func(s *casetest.Script, dur time.Duration) trace.SpanID {
		act := s.Action(0, dur, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox"})
		call := s.Call(0, dur, act, "RunPodSandbox", "")
		return runtimeSpan(s, call, 0, dur, "cri.sandbox.run")
	}
	run(t, "KL06", []script{
		{
			name: "slow", want: "setting up the pod's network (CNI ADD) took 1.80s of RunPodSandbox", cost: 1800 * ms,
			write: func(s *casetest.Script) {
				runtimeSpan(s, sandbox(s, 2*sec), 100*ms, 1900*ms, "cni.setup_pod_network")
				start(s, 2*sec, "sandbox")
			},
		},
		{
			name: "slow, and the plugins were seen", want: "setting up the pod's network (CNI ADD) took 1.80s of RunPodSandbox; the slowest plugin was ipam, which itself ran for 1.40s", cost: 1800 * ms,
			write: func(s *casetest.Script) {
				box := sandbox(s, 2*sec)
				runtimeSpan(s, box, 100*ms, 1900*ms, "cni.setup_pod_network")
				bridge := plugin(s, box, 100*ms, 1700*ms, "bridge", "ADD")
				plugin(s, bridge, 200*ms, 1600*ms, "ipam", "ADD")
				plugin(s, box, 1700*ms, 1800*ms, "portmap", "ADD")
				start(s, 2*sec, "sandbox")
			},
		},
		{
			name: "the runtime tells nothing, the plugins were seen", want: "setting up the pod's network (CNI ADD) took 1.70s of RunPodSandbox; the slowest plugin was bridge, which itself ran for 1.60s", cost: 1700 * ms,
			write: func(s *casetest.Script) {
				box := sandbox(s, 2*sec)
				plugin(s, box, 100*ms, 1700*ms, "bridge", "ADD")
				plugin(s, box, 150*ms, 160*ms, "loopback", "ADD") // at the same time
				plugin(s, box, 1700*ms, 1800*ms, "portmap", "ADD")
				start(s, 2*sec, "sandbox")
			},
		},
		{
			name: "not: plugins as quick as usual, nor those that undo a network",
			write: func(s *casetest.Script) {
				box := sandbox(s, 2*sec)
				plugin(s, box, 100*ms, 200*ms, "bridge", "ADD")
				plugin(s, box, 200*ms, 1900*ms, "portmap", "DEL")
				start(s, 2*sec, "sandbox")
			},
		},
		{
			name: "not: as usual",
			write: func(s *casetest.Script) {
				runtimeSpan(s, sandbox(s, 300*ms), 50*ms, 200*ms, "cni.setup_pod_network")
				start(s, 300*ms, "sandbox")
			},
		},
		{
			name: "not: the sandbox is slow and no span says why",
			write: func(s *casetest.Script) {
				act := s.Action(0, 9*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox"})
				s.Call(0, 9*sec, act, "RunPodSandbox", "")
				start(s, 9*sec, "sandbox")
			},
		},
		{
			name: "not: beside a slower pull",
			write: func(s *casetest.Script) {
				runtimeSpan(s, sandbox(s, 2*sec), 100*ms, 1900*ms, "cni.setup_pod_network")
				s.Action(0, 3*sec, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage})
				start(s, 3*sec, "sandbox", "image shop/web:1")
			},
		},
	})
}
