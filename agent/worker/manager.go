package worker

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config is what a Manager needs.
type Config struct {
	Syncer Syncer
	// Registry has the workers; nil means a new one.
	Registry *Registry
	Bus      *trace.Bus
	// Due, if set, is notified of pods whose retry is due, instead of an immediate Sync; it should call Wake with Cause.Retry set.
	// The syncLoop listens here. It has its own goroutine, which the manager does not wait for: it must not outlast the agent.
	Due func(uid types.UID)
}

// Manager has the workers of all pods. Safe for concurrent use.
type Manager struct {
	*Registry
	cfg Config
	ctx context.Context //nolint:containedctx // the life of all workers, ended by Run
	end context.CancelFunc
	wg  sync.WaitGroup
	// spawning makes the check of closed and wg.Add one step. It is the innermost lock: taken with a worker's mu.
	spawning sync.Mutex

	// The Registry's mu guards these too.
	names  map[string][]*worker // static pods by full name: the first may run
	orders uint64
}

// New returns a manager without workers.
func New(cfg Config) (*Manager, error) {
	if cfg.Syncer == nil {
		return nil, errors.New("worker: Config.Syncer is missing")
	}
	if cfg.Registry == nil {
		cfg.Registry = NewRegistry()
	}
	ctx, end := context.WithCancel(context.Background())
	return &Manager{Registry: cfg.Registry, cfg: cfg, ctx: ctx, end: end, names: map[string][]*worker{}}, nil
}

// Run waits for ctx to end, then cancels all work and returns when no work runs and no wait is open. It does not stop
// pods.
func (m *Manager) Run(ctx context.Context) error {
	<-ctx.Done()
	m.spawning.Lock()
	m.end()
	m.spawning.Unlock()
	m.wg.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.workers {
		w.settle()
	}
	return nil
}

func (m *Manager) closed() bool { return m.ctx.Err() != nil }

// spawn runs f unless the manager is closed.
func (m *Manager) spawn(f func()) bool {
	m.spawning.Lock()
	defer m.spawning.Unlock()
	if m.closed() {
		return false
	}
	m.wg.Go(f)
	return true
}

// Ask sends a request to the pod's worker, and creates the worker if there is none. A request to terminate an unknown
// pod also creates one, to make sure that everything of the pod is removed.
func (m *Manager) Ask(uid types.UID, a Ask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ask(uid, a)
}

// ask is Ask. Called with mu, so that forget does not miss a request.
func (m *Manager) ask(uid types.UID, a Ask) {
	w := m.workers[uid]
	if w == nil {
		if a.Pod == nil {
			return
		}
		w = m.add(uid, a)
	}
	w.ask(a)
}

// add creates a worker. Called with mu.
func (m *Manager) add(uid types.UID, a Ask) *worker {
	m.orders++
	w := &worker{m: m, uid: uid, order: m.orders, mach: machine{state: None, pod: a.Pod}}
	w.span = trace.ForPod(trace.Span{Trace: trace.NewTraceID()}, podspec.Ref(a.Pod))
	m.workers[uid] = w
	if !podspec.IsStatic(a.Pod) {
		return w
	}
	w.name = podspec.FullName(a.Pod)
	if ahead := m.names[w.name]; len(ahead) > 0 && !a.End && !m.closed() {
		wait := trace.Wait{For: trace.WaitPod, Target: trace.Target{Kind: trace.TargetEarlierPod}}
		w.held, w.hold = true, openWait{span: trace.Begin(m.cfg.Bus, w.span, wait), wait: wait}
	}
	m.names[w.name] = append(m.names[w.name], w)
	return w
}

// due is called by a worker's timer.
func (m *Manager) due(w *worker) {
	if m.cfg.Due != nil {
		m.cfg.Due(w.uid)
		return
	}
	w.wake(Cause{Text: "retry", Retry: true})
}

// forget removes a worker whose pod is gone, lets its successor start, and handles a request for the same UID that
// arrived meanwhile.
func (m *Manager) forget(w *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.workers, w.uid)
	if w.name != "" {
		m.names[w.name] = slices.DeleteFunc(m.names[w.name], func(o *worker) bool { return o == w })
		if list := m.names[w.name]; len(list) > 0 {
			list[0].release()
		} else {
			delete(m.names, w.name)
		}
	}
	w.mu.Lock()
	again := w.mach.again
	w.mu.Unlock()
	if again != nil {
		m.ask(w.uid, *again)
	}
}
