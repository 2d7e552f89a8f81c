package probe

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Exec runs a command in a container. runtimeapi.RuntimeServiceClient satisfies it.
type Exec interface {
	ExecSync(context.Context, *runtimeapi.ExecSyncRequest, ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error)
}

// Observer returns the runtime's state of a pod; nil if it has none.
type Observer interface {
	Get(uid types.UID) *podstate.Pod
}

// Config is what a Prober needs.
type Config struct {
	Exec     Exec
	Observer Observer
	// Mirrors may be nil: then no static pod has a mirror pod.
	Mirrors Mirrors
	// Events may be nil: then they are only published on the bus.
	Events events.Publisher
	// HostIPs returns the node's addresses, primary first. It must not block. May be nil: then they are unknown.
	HostIPs func() []string
	// Family is the family of a pod's IPs that is first.
	Family podstate.Family
	// CPU returns how long the CPU limits of a container and its pod have throttled it; zero if unknown. It is called when an attempt fails,
	// and when one takes half of its timeout. It may be nil.
	CPU func(pod *v1.Pod, containerID string) (container, whole cgroup.Throttling)
	// H2C and GRPCTLS are the feature gates H2CContainerProbe and GRPCContainerProbeTLS.
	H2C, GRPCTLS bool
	// Afresh makes containers of an earlier agent unready until their probes succeed again, as new ones: feature gate
	// ChangeContainerStatusOnKubeletRestart.
	Afresh bool
	Bus    *trace.Bus
}

// Prober runs probes. It is safe for concurrent use.
type Prober struct {
	cfg      Config
	http     *http.Transport
	h2c      *http.Transport
	perform  func(ctx context.Context, a *attempt) outcome // tests replace it
	updates  chan Update
	news     chan struct{} // has an element while pending is not empty
	attempts sync.WaitGroup
	born     time.Time // containers that started before belong to an earlier agent

	mu      sync.Mutex
	pods    map[types.UID]*podProbes
	byID    map[string]*container
	pending []Update
	closed  bool
}

// New returns a Prober that probes nothing yet.
func New(cfg Config) (*Prober, error) {
	if cfg.Exec == nil || cfg.Observer == nil {
		return nil, errors.New("probe: Config needs Exec and Observer")
	}
	if cfg.HostIPs == nil {
		cfg.HostIPs = func() []string { return nil }
	}
	p := &Prober{
		cfg: cfg, http: newTransport(), h2c: newH2CTransport(),
		updates: make(chan Update), news: make(chan struct{}, 1),
		born: time.Now(), pods: map[types.UID]*podProbes{}, byID: map[string]*container{},
	}
	p.perform = p.do
	return p, nil
}

// Updates delivers each change of a probe's result. The receiver may call the Prober.
func (p *Prober) Updates() <-chan Update { return p.updates }

// Run delivers updates until ctx ends; then it cancels attempts, waits for them and returns nil.
func (p *Prober) Run(ctx context.Context) error {
	defer p.close()
	for {
		var out chan Update
		var head Update
		p.mu.Lock()
		if len(p.pending) > 0 {
			out, head = p.updates, p.pending[0]
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-p.news:
		case out <- head:
			p.mu.Lock()
			p.pending = p.pending[1:]
			p.mu.Unlock()
		}
	}
}

func (p *Prober) close() {
	p.mu.Lock()
	p.closed = true
	for uid := range p.pods {
		p.remove(uid)
	}
	p.mu.Unlock()
	p.attempts.Wait()
}

// push queues an update. Called with mu.
func (p *Prober) push(u Update) {
	same := func(w Update) bool { w.Result = u.Result; return w == u }
	if i := slices.IndexFunc(p.pending, same); i > 0 { // the first may be being delivered now
		p.pending = slices.Delete(p.pending, i, i+1) // not delivered yet: only the later one is true
	}
	p.pending = append(p.pending, u)
	select {
	case p.news <- struct{}{}:
	default:
	}
}
