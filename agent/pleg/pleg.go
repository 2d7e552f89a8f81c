package pleg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Runtime is the part of the CRI that the PLEG needs.
type Runtime interface {
	ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error)
	ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error)
	PodSandboxStatus(context.Context, *runtimeapi.PodSandboxStatusRequest, ...grpc.CallOption) (*runtimeapi.PodSandboxStatusResponse, error)
	ContainerStatus(context.Context, *runtimeapi.ContainerStatusRequest, ...grpc.CallOption) (*runtimeapi.ContainerStatusResponse, error)
	GetContainerEvents(context.Context, *runtimeapi.GetEventsRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[runtimeapi.ContainerEventResponse], error)
}

// Config is what a PLEG needs.
type Config struct {
	Runtime Runtime
	Bus     *trace.Bus
	// Period is the relist period while events arrive; zero means 5 minutes, as in upstream's evented PLEG.
	Period time.Duration
	// PollPeriod is the relist period without events; zero means 1 second.
	PollPeriod time.Duration
}

// Event notifies the syncLoop that a pod changed in the runtime.
type Event struct {
	UID         types.UID
	Type        Type
	ContainerID string
	// Span is the event's record; what follows is its child.
	Span trace.Span
}

// PLEG is the generator. Create it with New and call Run once.
type PLEG struct {
	cfg    Config
	cache  *Cache
	events chan Event
	relist chan trace.RelistCause // requested relists, with their causes

	live atomic.Bool // Run runs, so somebody reads events

	mu       sync.Mutex
	last     time.Time // end of the last successful relist
	failing  time.Time // begin of the first relist since then that has not succeeded, zero if there is none
	evented  bool
	single   exposition.Durations // of Refresh
	modeWhy  string
	modeSaid bool
}

// New returns a PLEG that has seen nothing yet.
func New(cfg Config) (*PLEG, error) {
	if cfg.Runtime == nil {
		return nil, errors.New("pleg: Config.Runtime is missing")
	}
	if cfg.Period == 0 {
		cfg.Period = 5 * time.Minute
	}
	if cfg.PollPeriod == 0 {
		cfg.PollPeriod = time.Second
	}
	return &PLEG{cfg: cfg, cache: newCache(), events: make(chan Event, 1000), relist: make(chan trace.RelistCause, 1)}, nil
}

// Cache returns the pod cache.
func (p *PLEG) Cache() *Cache { return p.cache }

// Events is where changes arrive once Run runs. It is never closed.
func (p *PLEG) Events() <-chan Event { return p.events }

// Run generates events until ctx ends. The caller should have called Relist successfully once, so that running pods are
// known before the first decision.
func (p *PLEG) Run(ctx context.Context) error {
	p.live.Store(true)
	var wg sync.WaitGroup
	wg.Go(func() { p.watch(ctx) })
	p.relistLoop(ctx)
	wg.Wait()
	return nil
}

// Demand requests a relist soon; it does not wait.
func (p *PLEG) Demand(cause trace.RelistCause) {
	select {
	case p.relist <- cause:
	default: // one is already requested
	}
}

// LastRelist returns when the last successful relist ended, and whether events arrive.
func (p *PLEG) LastRelist() (at time.Time, evented bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.evented
}

// hungAfter is how long relists may fail before the PLEG is not healthy.
//
// Upstream: pkg/kubelet/kubelet.go, genericPlegRelistThreshold.
const hungAfter = 3 * time.Minute

// HungError says that the runtime has not listed its pods for a long time, although it was asked.
type HungError struct {
	// Last is when it last did, zero for never.
	Last time.Time
	// Ago is how long ago that is.
	Ago time.Duration
}

// Error implements error, with upstream's text, which tools match.
//
// Upstream: pkg/kubelet/pleg/generic.go, Healthy, and pkg/kubelet/runtime.go.
func (e *HungError) Error() string {
	if e.Last.IsZero() {
		return "PLEG is not healthy: pleg has yet to be successful"
	}
	return fmt.Sprintf("PLEG is not healthy: pleg was last seen active %v ago; threshold is %v", e.Ago, hungAfter)
}

// Hung returns a [*HungError] if relists have failed or hung for three minutes, otherwise nil. Between two relists, none is due: that is well.
func (p *PLEG) Hung() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.IsZero() || time.Since(p.failing) < hungAfter {
		return nil
	}
	return &HungError{Last: p.last, Ago: time.Since(p.last)}
}

// setMode publishes the mode when it changes, unless ctx has ended: a stream that ended must not change the mode.
func (p *PLEG) setMode(ctx context.Context, evented bool, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	same := p.modeSaid && p.evented == evented && p.modeWhy == why
	p.evented, p.modeWhy, p.modeSaid = evented, why, true
	if same {
		return
	}
	mode := trace.PLEGRelists
	if evented {
		mode = trace.PLEGEvented
	}
	trace.Point(p.cfg.Bus, trace.Span{}, trace.PLEGMode{Mode: mode, Reason: why})
}

// emit passes changes to the loop and waits if the loop is behind: events are few, and a lost one would be found only
// by the next periodic relist.
func (p *PLEG) emit(ctx context.Context, uid types.UID, pod trace.Pod, from trace.PLEGFrom, lag int64, parent trace.Span, changes []change) {
	for _, c := range changes {
		span := trace.Point(p.cfg.Bus, trace.ForPod(parent, pod), trace.PLEGEvent{
			Type: c.typ, Container: c.container, Name: c.name, Sandbox: c.sandbox, From: from, Lag: lag,
		})
		if !p.live.Load() {
			continue // the first list: no loop reads yet, and the list may be longer than the channel
		}
		select {
		case p.events <- Event{UID: uid, Type: c.typ, ContainerID: c.container, Span: span}:
		case <-ctx.Done():
			return
		}
	}
}
