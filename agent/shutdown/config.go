package shutdown

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Logind is a connection to logind. Its methods other than Announced have a time limit.
type Logind interface {
	// Delay returns how long a shutdown waits for locks at most.
	Delay(ctx context.Context) (time.Duration, error)
	// SetDelay configures logind for a new Delay. It takes effect some time after SetDelay returns.
	SetDelay(ctx context.Context, d time.Duration) error
	// Preparing reports whether the machine is about to shut down.
	Preparing(ctx context.Context) (bool, error)
	// Inhibit takes a lock, which Close releases.
	Inhibit(ctx context.Context) (io.Closer, error)
	// Announced delivers true when the machine is about to shut down, and false when it does not shut down after all. It is closed when the
	// connection ends.
	Announced() <-chan bool
	Close() error
}

// Pods are the pods of the node.
type Pods interface {
	// Known is closed when all pods are known: those of an agent that has just started are not.
	Known() <-chan struct{}
	// Active returns the pods that have not terminated; the caller must not change them.
	Active() []*v1.Pod
	// ShutDown makes a pod fail and terminate, with a grace period in seconds. It returns immediately.
	ShutDown(ctx context.Context, pod *v1.Pod, grace int64)
	// Ended reports whether nothing of a pod runs, and its volumes are unmounted.
	Ended(uid types.UID) bool
	// Written reports whether the API has the pod's status.
	Written(uid types.UID) bool
}

// Events sends Events about the node.
type Events interface {
	Node(ctx context.Context, eventType, reason, message string)
}

// Config is what a Manager needs.
type Config struct {
	// Periods are those of Settings; at least one.
	Periods []Period
	// Connect connects to logind: see [Bus.Connect].
	Connect func(ctx context.Context) (Logind, error)
	Pods    Pods
	// StateFile keeps when the last shutdown began and ended; "" keeps nothing.
	StateFile string
	// Changed is called when the node starts or stops shutting down, and must not block; may be nil.
	Changed func()
	// Events may be nil.
	Events Events
	// Bus may be nil.
	Bus *trace.Bus
}

// Manager holds the lock, and terminates pods when the machine is about to shut down. Its methods other than Run are safe for concurrent use.
type Manager struct {
	cfg Config
	// Only Run uses these.
	lock    io.Closer // nil while it is not held
	started time.Time

	mu   sync.Mutex
	down bool
}

// New returns a manager that does not run.
func New(c Config) (*Manager, error) {
	if len(c.Periods) == 0 || c.Connect == nil || c.Pods == nil {
		return nil, errors.New("shutdown: Config needs Periods, Connect and Pods")
	}
	return &Manager{cfg: c}, nil
}

// Underway reports whether the node is shutting down: then it admits no pods.
func (m *Manager) Underway() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.down
}

// NotReady returns the error for the node's condition Ready while it is shutting down.
//
// Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go, ShutdownStatus.
func (m *Manager) NotReady() error {
	if m.Underway() {
		return errors.New("node is shutting down")
	}
	return nil
}

// turn sets whether the node is shutting down.
func (m *Manager) turn(ctx context.Context, down bool, message string) {
	m.mu.Lock()
	m.down = down
	m.mu.Unlock()
	if m.cfg.Changed != nil {
		m.cfg.Changed()
	}
	if m.cfg.Events != nil {
		m.cfg.Events.Node(ctx, v1.EventTypeNormal, "Shutdown", message)
	}
}
