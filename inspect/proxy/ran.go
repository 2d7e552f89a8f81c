package proxy

import (
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// relist is how often upstream's kubelet asks its runtime what became of containers.
const relist = time.Second

// ran is the container of a pod that was started last, and its end as the kubelet was told of it. Times are in Unix nanoseconds.
type ran struct {
	id, name string
	from     int64 // when StartContainer was answered
	to       int64 // when it ended, by the runtime; 0 while that is not known
	told     int64 // when the answer came that said so
	exit     int32
}

// statusOf takes in what the kubelet was told of a container at a time. Called with mu.
func (p *pod) statusOf(s *runtimeapi.ContainerStatus, at time.Time) {
	r := &p.ran
	if s.GetState() != runtimeapi.ContainerState_CONTAINER_EXITED {
		return
	}
	delete(p.runs, s.GetId())
	if s.GetId() != r.id || r.to != 0 {
		return
	}
	r.told, r.exit = at.UnixNano(), s.GetExitCode()
	r.to = min(max(s.GetFinishedAt(), r.from), r.told)
}

// initWas says, before a container is made, that the last one was an init container: it ended well, no other one runs, and this one is made
// for the first time. The kubelet knew of its end when it had asked. Called with mu.
func (ps *pods) initWas(p *pod, next trace.Action) {
	r := p.ran
	if r.to == 0 || r.exit != 0 || p.started || len(p.runs) > 0 || slices.ContainsFunc(p.plan, func(s trace.PlanStep) bool { return s.ID == next.ID }) {
		return
	}
	p.ran = ran{}
	ps.waited(p, r.from, r.to, trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: r.name}})
	if r.told-r.to >= int64(time.Millisecond) {
		ps.waited(p, r.to, r.told, trace.Wait{For: trace.WaitPoll, Target: trace.Target{Kind: trace.TargetPLEG}, Every: relist})
	}
}

// waited publishes a wait that is over. Called with mu.
func (ps *pods) waited(p *pod, from, to int64, w trace.Wait) {
	ps.bus.Insert(&trace.Record{
		Time: to, Edge: trace.EdgeEnd, Dur: time.Duration(to - from), Trace: p.trace, Span: trace.NewSpanID(), Pod: p.id,
		Observer: trace.ObserverProxy, Event: &w,
	})
}
