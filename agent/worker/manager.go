package worker

import (
	"context"
	"errors"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	podid "github.com/kubeloupe/kubeloupe/agent/pod"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config is what a Manager needs.
type Config struct {
	Syncer Syncer
	Bus    *trace.Bus
	// Due, if set, is told of pods whose retry is due instead of their being worked
	// on at once; it should answer with Wake. The syncLoop listens here.
	Due func(uid types.UID)
	// Moved, if set, is told of each change of state. It must not block or call back.
	Moved func(pod *v1.Pod, from, to State)
}

func (c *Config) notify(pod *v1.Pod, from, to State) {
	if c.Moved != nil {
		c.Moved(pod, from, to)
	}
}

// Manager has the workers of all pods. Safe for concurrent use.
type Manager struct {
	cfg Config
	ctx context.Context //nolint:containedctx // the life of all workers, ended by Run
	end context.CancelFunc
	wg  sync.WaitGroup

	mu      sync.Mutex
	workers map[types.UID]*worker
	names   map[string][]*worker // static pods by full name: the first may run
	orders  uint64
}

// New returns a manager without workers.
func New(cfg Config) (*Manager, error) {
	if cfg.Syncer == nil {
		return nil, errors.New("worker: Config.Syncer is missing")
	}
	ctx, end := context.WithCancel(context.Background())
	return &Manager{cfg: cfg, ctx: ctx, end: end, workers: map[types.UID]*worker{}, names: map[string][]*worker{}}, nil
}

// Run waits for ctx to end, then cuts work short and returns when no worker works.
// Pods are left as they are.
func (m *Manager) Run(ctx context.Context) error {
	<-ctx.Done()
	m.mu.Lock()
	m.end()
	m.mu.Unlock()
	m.wg.Wait()
	return nil
}

func (m *Manager) closed() bool { return m.ctx.Err() != nil }

// Ask hands a request to the pod's worker, making one if there is none. A request
// about a pod that is unknown and should end makes one too, to be sure that nothing of it is left.
func (m *Manager) Ask(uid types.UID, a Ask) {
	m.mu.Lock()
	w := m.workers[uid]
	if w == nil {
		if a.Pod == nil {
			m.mu.Unlock()
			return
		}
		w = m.add(uid, a)
	}
	m.mu.Unlock()
	w.ask(a)
}

// add makes a worker. Called with mu.
func (m *Manager) add(uid types.UID, a Ask) *worker {
	m.orders++
	w := &worker{m: m, order: m.orders, mach: machine{state: None, pod: a.Pod}}
	ref := podid.Ref(a.Pod)
	w.span = trace.ForPod(trace.Span{Trace: trace.NewTraceID()}, ref)
	m.workers[uid] = w
	if podid.IsStatic(a.Pod) {
		name := podid.FullName(a.Pod)
		if ahead := m.names[name]; len(ahead) > 0 && !a.End {
			w.held = true
			w.retryOf = trace.Wait{For: trace.WaitPod, On: "the earlier pod of this name to be gone", Detail: string(ahead[0].mach.pod.UID)}
			w.retryIn = trace.Begin(m.cfg.Bus, w.span, w.retryOf)
		}
		m.names[name] = append(m.names[name], w)
	}
	return w
}

// Wake makes a pod's worker look again, if there is one.
func (m *Manager) Wake(uid types.UID, c Cause) bool {
	m.mu.Lock()
	w := m.workers[uid]
	m.mu.Unlock()
	if w == nil {
		return false
	}
	w.wake(c)
	return true
}

// due is a worker's timer.
func (m *Manager) due(ref trace.Pod, w *worker) {
	if m.cfg.Due != nil {
		m.cfg.Due(types.UID(ref.UID))
		return
	}
	w.wake(Cause{Text: "retry", Retry: true})
}

// gone forgets a worker whose pod is gone and lets its successor start. Called
// with the worker's mu, which orders after no other.
func (m *Manager) gone(w *worker) {
	uid, name, again := w.mach.pod.UID, podid.FullName(w.mach.pod), w.mach.again
	m.wg.Go(func() {
		m.mu.Lock()
		if m.workers[uid] == w {
			delete(m.workers, uid)
		}
		list := m.names[name]
		for i, o := range list {
			if o == w {
				list = append(list[:i:i], list[i+1:]...)
				break
			}
		}
		m.names[name] = list
		var next *worker
		if len(list) == 0 {
			delete(m.names, name)
		} else {
			next = list[0]
		}
		m.mu.Unlock()
		if next != nil {
			next.release()
		}
		if again != nil {
			m.Ask(uid, *again)
		}
	})
}

// State returns the state of a pod's worker; None when there is none.
func (m *Manager) State(uid types.UID) State {
	m.mu.Lock()
	w := m.workers[uid]
	m.mu.Unlock()
	if w == nil {
		return None
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mach.state
}

// Pods returns the pods that have workers, by UID.
func (m *Manager) Pods() map[types.UID]*v1.Pod {
	m.mu.Lock()
	workers := make(map[types.UID]*worker, len(m.workers))
	for uid, w := range m.workers {
		workers[uid] = w
	}
	m.mu.Unlock()
	out := make(map[types.UID]*v1.Pod, len(workers))
	for uid, w := range workers {
		out[uid] = w.pod()
	}
	return out
}
