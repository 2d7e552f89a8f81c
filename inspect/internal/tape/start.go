package tape

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Start describes the start of one pod with one container.
type Start struct {
	Pod   trace.Pod
	At    time.Duration
	Image string
	Bytes int64 // of the image, if it is pulled
	// Queue is the wait before the sandbox.
	Queue, Sandbox, Volumes, Pull, Create, Run, Probe time.Duration
}

// Start adds a complete start, as the current agent publishes it.
func (t *Tape) Start(s Start) {
	at := s.At
	t.Point(at, s.Pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile, Spec: &trace.PodSpec{
		Containers: []trace.ContainerSpec{{Name: "web", Image: s.Image}},
	}})
	sync := t.Begin(at, s.Pod, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	t.Point(at, s.Pod, sync, &trace.Plan{Steps: []trace.PlanStep{
		{ID: "volumes", Verb: trace.VerbVolumes},
		{ID: "sandbox", Verb: trace.VerbSandbox},
		{ID: "image web", Verb: trace.VerbImage},
		{ID: "create web", Verb: trace.VerbCreate, Needs: []string{"sandbox", "volumes", "image web"}},
		{ID: "start web", Verb: trace.VerbStart, Needs: []string{"create web"}},
	}})
	joined := max(t.volumes(s, sync), t.sandbox(s, sync), t.image(s, sync))
	created := t.step(s.Pod, sync, joined, joined+s.Create, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web"}, "CreateContainer")
	started := t.step(s.Pod, sync, created, created+s.Run, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"}, "StartContainer")
	t.Point(started, s.Pod, sync, &trace.Milestone{Name: trace.MilestoneStarted, Since: started - at})
	t.End(started, sync, nil)
	t.Point(started, s.Pod, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1})
	if s.Probe > 0 {
		t.End(started+s.Probe, t.Begin(started, s.Pod, 0, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}}), nil)
	}
	t.Point(started+s.Probe, s.Pod, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: started + s.Probe - at})
}

func (t *Tape) volumes(s Start, sync trace.SpanID) time.Duration {
	a := t.Begin(s.At, s.Pod, sync, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	t.End(s.At+s.Volumes, t.Begin(s.At, s.Pod, a, &trace.Volume{Op: "setup", Name: "token", Plugin: "kubernetes.io/projected"}), nil)
	t.End(s.At+s.Volumes, a, nil)
	return s.At + s.Volumes
}

func (t *Tape) sandbox(s Start, sync trace.SpanID) time.Duration {
	a := t.Begin(s.At, s.Pod, sync, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	if s.Queue > 0 {
		t.End(s.At+s.Queue, t.Begin(s.At, s.Pod, a, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Size: 4, Busy: 4}), nil)
	}
	end := s.At + s.Queue + s.Sandbox
	t.End(end, t.Begin(s.At+s.Queue, s.Pod, a, &trace.CRICall{Method: "RunPodSandbox"}), &trace.CRICall{Method: "RunPodSandbox", Code: "OK"})
	t.End(end, a, nil)
	return end
}

func (t *Tape) image(s Start, sync trace.SpanID) time.Duration {
	a := t.Begin(s.At, s.Pod, sync, &trace.Action{ID: "image web", Verb: trace.VerbImage, Target: s.Image, Policy: trace.PullIfNotPresent, Reason: "IfNotPresent"})
	if s.Pull > 0 {
		p := t.Begin(s.At, s.Pod, a, &trace.ImagePull{Image: s.Image})
		t.End(s.At+s.Pull, t.Begin(s.At, s.Pod, p, &trace.CRICall{Method: "PullImage", Image: s.Image}), &trace.CRICall{Method: "PullImage", Image: s.Image, Code: "OK"})
		t.End(s.At+s.Pull, p, &trace.ImagePull{Image: s.Image, Bytes: s.Bytes})
	}
	t.End(s.At+s.Pull, a, nil)
	return s.At + s.Pull
}

// step adds an action that consists of one CRI call, and returns its end.
func (t *Tape) step(pod trace.Pod, sync trace.SpanID, from, to time.Duration, a trace.Action, method string) time.Duration {
	act := t.Begin(from, pod, sync, &a)
	t.End(to, t.Begin(from, pod, act, &trace.CRICall{Method: method}), &trace.CRICall{Method: method, Code: "OK"})
	t.End(to, act, nil)
	return to
}
