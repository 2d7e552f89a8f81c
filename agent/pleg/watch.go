package pleg

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// watch reads the runtime's event stream and reconnects when it ends.
func (p *PLEG) watch(ctx context.Context) {
	first := backoff.Doubling(100*time.Millisecond, 5*time.Second)
	pauses := first
	for ctx.Err() == nil {
		got, err := p.readStream(ctx)
		if ctx.Err() != nil {
			return
		}
		if status.Code(err) == codes.Unimplemented {
			p.setMode(ctx, false, "the runtime has no event stream")
			p.Demand(trace.RelistNoEvents)
			return
		}
		p.setMode(ctx, false, "event stream ended: "+errText(err))
		p.Demand(trace.RelistBroken)
		if got {
			pauses = first
		}
		select {
		case <-time.After(pauses.Step()):
		case <-ctx.Done():
			return
		}
	}
}

// readStream reads one stream. It reports whether at least one event was read.
func (p *PLEG) readStream(ctx context.Context) (got bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.cfg.Runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return false, err
	}
	// A server without events refuses at once; one with events stays silent. In both cases a relist closes the gap
	// between the first list and the stream.
	settled := time.AfterFunc(200*time.Millisecond, func() {
		p.setMode(ctx, true, "")
		p.Demand(trace.RelistOpened)
	})
	defer settled.Stop()
	for {
		ev, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("closed by the runtime")
			}
			return got, err
		}
		if !got {
			got = true
			p.setMode(ctx, true, "")
		}
		p.take(ctx, ev)
	}
}

// take applies one event to the cache.
func (p *PLEG) take(ctx context.Context, ev *runtimeapi.ContainerEventResponse) {
	made := at(ev.GetCreatedAt())
	next := p.apply(ev, made)
	if next == nil {
		p.Demand(trace.RelistNoStatus)
		return
	}
	old, taken := p.cache.put(next)
	if !taken {
		return
	}
	lag := max(0, time.Since(made))
	p.emit(ctx, next.UID, podOf(next), trace.PLEGEvented, int64(lag), trace.Span{}, diff(old, next))
}

// apply merges an event into the cached pod. An event has all of one sandbox and nothing of the pod's others. Nil means
// that the event does not identify the pod.
func (p *PLEG) apply(ev *runtimeapi.ContainerEventResponse, made time.Time) *podstate.Pod {
	id, s := ev.GetContainerId(), ev.GetPodSandboxStatus()
	if ev.GetContainerEventType() == runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT {
		if old := p.cache.owner(id); old != nil {
			return without(old, id, made)
		}
		if s == nil {
			return &podstate.Pod{At: made} // a pod that was already removed
		}
	}
	if s == nil {
		return nil
	}
	ref := criconfig.ParseSandbox(s.GetLabels(), s.GetAnnotations())
	if ref.UID == "" {
		return &podstate.Pod{At: made} // not a kubelet's sandbox
	}
	next := &podstate.Pod{UID: ref.UID, Name: ref.Name, Namespace: ref.Namespace, At: made}
	if old := p.cache.Get(ref.UID); old != nil {
		next.Unseen = old.Unseen
		for _, o := range old.Sandboxes {
			if o.ID != s.GetId() {
				next.Sandboxes = append(next.Sandboxes, o)
			}
		}
		for _, o := range old.Containers {
			if o.SandboxID != s.GetId() {
				next.Containers = append(next.Containers, o)
			}
		}
	}
	next.Sandboxes = append(next.Sandboxes, sandboxOf(s))
	for _, c := range ev.GetContainersStatuses() {
		next.Containers = append(next.Containers, containerOf(c, s.GetId()))
	}
	newestFirst(next)
	return next
}

// without returns the pod without one sandbox or container.
func without(old *podstate.Pod, id string, made time.Time) *podstate.Pod {
	next := *old
	next.At = later(made, old.At)
	next.Sandboxes, next.Containers = nil, nil
	for _, s := range old.Sandboxes {
		if s.ID != id {
			next.Sandboxes = append(next.Sandboxes, s)
		}
	}
	for _, c := range old.Containers {
		if c.ID != id {
			next.Containers = append(next.Containers, c)
		}
	}
	return &next
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func podOf(p *podstate.Pod) trace.Pod {
	return trace.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
}

func errText(err error) string {
	if err == nil {
		return "no error"
	}
	return status.Convert(err).Message()
}

// known reports whether the UID is a kubelet's.
func known(uid types.UID) bool { return uid != "" }
