// Package runtimestate checks whether the container runtime and its network are ready.
//
// It owns only this state. It never acts on it and never restarts anything.
//
// It runs one goroutine inside Run, which checks the runtime every 30 s while it is ready and every second while it is
// not, and earlier after a Prompt. It requests the runtime's version every 30 s, and when the runtime is ready again. It publishes
// Agent{State: degraded|ready} on change, and runtime.described when the runtime first reports its features and when they change.
//
// Upstream: pkg/kubelet/runtime.go, updateRuntimeUp (every 5 s there, always).
package runtimestate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Runtime returns the runtime's status and its version.
type Runtime interface {
	Version(context.Context, *runtimeapi.VersionRequest, ...grpc.CallOption) (*runtimeapi.VersionResponse, error)
	Status(context.Context, *runtimeapi.StatusRequest, ...grpc.CallOption) (*runtimeapi.StatusResponse, error)
}

// State is the known state of the runtime. Safe for concurrent use.
type State struct {
	runtime Runtime
	bus     *trace.Bus
	good    time.Duration
	bad     time.Duration

	mu       sync.Mutex
	up       health
	network  health
	asked    bool
	changed  chan struct{}
	prompted chan struct{}
	handlers []*runtimeapi.RuntimeHandler
	features *runtimeapi.RuntimeFeatures
	told     *trace.RuntimeDescribed // as last published; nil before the first
	version  version
}

// New returns a state before the first check, which is not ready.
func New(rt Runtime, bus *trace.Bus) (*State, error) {
	if rt == nil {
		return nil, errors.New("runtimestate: no runtime")
	}
	return &State{
		runtime: rt, bus: bus, good: 30 * time.Second, bad: time.Second,
		up: health{why: "not asked yet", words: runtimeUnknown}, network: health{why: "not asked yet", words: networkUnknown}, changed: make(chan struct{}), prompted: make(chan struct{}, 1),
		version: version{asked: time.Now()},
	}, nil
}

// Ready returns whether the runtime responds and is ready, and if not, the reason.
func (s *State) Ready() (ok bool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up.ok, s.up.why
}

// NetworkReady returns whether the pod network is ready, and if not, the reason.
func (s *State) NetworkReady() (ok bool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network.ok, s.network.why
}

// Changed returns a channel that is closed at the next change.
func (s *State) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Prompt requests a check now, or a second after the last one; it does not wait.
func (s *State) Prompt() {
	select {
	case s.prompted <- struct{}{}:
	default:
	}
}

// Run checks periodically until ctx ends.
func (s *State) Run(ctx context.Context) error {
	var looked time.Time
	for {
		period := s.good
		if up, _ := s.Ready(); !up {
			period = s.bad
		} else if net, _ := s.NetworkReady(); !net {
			period = s.bad
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.prompted:
			select { // a hundred pods may request a check at once, each for its own sandbox
			case <-ctx.Done():
				return nil
			case <-time.After(s.bad - time.Since(looked)):
			}
		case <-time.After(period):
		}
		s.Check(ctx)
		looked = time.Now()
	}
}

// Check calls the runtime once.
func (s *State) Check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := s.runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		if errors.Is(context.Cause(ctx), context.Canceled) {
			return
		}
		s.set(notReady(status.Convert(err).Message(), runtimeDown), s.networkUnheard())
		return
	}
	s.note(r)
	s.askVersion(ctx)
	s.set(condition(r, runtimeapi.RuntimeReady, runtimeNotReady), condition(r, runtimeapi.NetworkReady, networkNotReady))
}

// networkUnheard is what is known of the pod network while the runtime does not answer: what it last said. Pods wait for the runtime then.
func (s *State) networkUnheard() health {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		return health{why: "the runtime does not answer", words: networkUnknown}
	}
	return s.network
}

// note stores the runtime's handlers and features.
func (s *State) note(r *runtimeapi.StatusResponse) {
	if r == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers, s.features = r.GetRuntimeHandlers(), r.GetFeatures()
	s.tell(description(s.handlers, s.features))
}

// Handlers returns the runtime's handlers with their features, as last reported. They are shared: do not change them.
func (s *State) Handlers() []*runtimeapi.RuntimeHandler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handlers
}

// Supports returns the features of a runtime handler, "" for the default one. Old runtimes list no handlers: these have none of the features.
// If the runtime lists handlers, but not this one, that is an error. The result is shared: do not change it.
//
// Upstream: pkg/kubelet/kubelet_getters.go, HandlerSupportsUserNamespaces.
func (s *State) Supports(handler string) (*runtimeapi.RuntimeHandlerFeatures, error) {
	handlers := s.Handlers()
	for _, h := range handlers {
		if h.GetName() == handler {
			return h.GetFeatures(), nil
		}
	}
	if len(handlers) > 0 {
		return nil, fmt.Errorf("the handler %q is not known", handler)
	}
	return nil, nil //nolint:nilnil // the getters of no features say that there are none
}

// Features returns the runtime's features for all handlers, nil if it did not report them.
func (s *State) Features() *runtimeapi.RuntimeFeatures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.features
}

func (s *State) set(up, network health) {
	s.mu.Lock()
	defer s.mu.Unlock() // also held while publishing, so that the last event has the newest state
	same := s.up == up && s.network == network
	first := !s.asked
	s.asked = true
	s.up, s.network = up, network
	if !same {
		close(s.changed)
		s.changed = make(chan struct{})
	}
	switch {
	case same:
	case !up.ok:
		trace.Point(s.bus, trace.Span{}, trace.Agent{State: trace.AgentDegraded, Reason: "container runtime: " + up.why})
	case !network.ok:
		trace.Point(s.bus, trace.Span{}, trace.Agent{State: trace.AgentDegraded, Reason: "pod network: " + network.why})
	case !first: // a first state without problems is not published
		trace.Point(s.bus, trace.Span{}, trace.Agent{State: trace.AgentReady})
	}
}
