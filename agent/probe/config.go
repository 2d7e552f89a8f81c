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
	// Mirrors may be nil: static pods are not shown in an API.
	Mirrors Mirrors
	// Events may be nil: they are published on the bus only.
	Events events.Publisher
	// HostIP is the node's primary address: that of pods with the host's network.
	HostIP string
	// CPU returns how long the CPU limits of a container and its pod have throttled it; zero if unknown. It is called when an attempt fails,
	// and when one takes half of its timeout. It may be nil.
	CPU func(pod *v1.Pod, containerID string) (container, whole cgroup.Throttling)
	// H2C and GRPCTLS are the feature gates H2CContainerProbe and GRPCContainerProbeTLS.
	H2C, GRPCTLS bool
	Bus          *trace.Bus
}

// Prober runs probes. It is safe for concurrent use.
type Prober struct {
	cfg      Config
	http     *http.Transport
	h2c      *http.Transport
	perform  func(ctx context.Context, a *attempt) outcome // tests replace it
	updates  chan Update
	news     chan struct{} // holds one when pending is not empty
	attempts sync.WaitGroup
	born     time.Time // containers that ran before are an earlier agent's

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
	p := &Prober{
		cfg: cfg, http: newTransport(), h2c: newH2CTransport(),
		updates: make(chan Update), news: make(chan struct{}, 1),
		born: time.Now(), pods: map[types.UID]*podProbes{}, byID: map[string]*container{},
	}
	p.perform = p.do
	return p, nil
}

// Updates sends each change of a probe's result. The receiver may call the Prober.
func (p *Prober) Updates() <-chan Update { return p.updates }

// Run hands out updates until ctx ends; then it cuts attempts short, waits for them and
// returns nil.
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

// push queues an update. The caller holds mu.
func (p *Prober) push(u Update) {
	same := func(w Update) bool { w.Result = u.Result; return w == u }
	if i := slices.IndexFunc(p.pending, same); i > 0 { // the first may be handed out just now
		p.pending = slices.Delete(p.pending, i, i+1) // nobody took it yet: what is true is the later one
	}
	p.pending = append(p.pending, u)
	select {
	case p.news <- struct{}{}:
	default:
	}
}
