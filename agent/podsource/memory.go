package podsource

import (
	"context"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Memory is a source whose pods are set by a caller: the step command, tests.
type Memory struct {
	name string
	bus  *trace.Bus

	mu    sync.Mutex
	queue []Set
	wake  chan struct{}
}

// NewMemory returns an empty source. It counts as seen once Set has been called. The bus may be nil.
func NewMemory(name string, bus *trace.Bus) *Memory {
	return &Memory{name: name, bus: bus, wake: make(chan struct{}, 1)}
}

// Name implements Source.
func (m *Memory) Name() string { return m.name }

// Set replaces the source's pods. It does not wait; sets are delivered in order, none is skipped.
// The pods must not be changed afterwards. It may be called before Run.
func (m *Memory) Set(pods ...*v1.Pod) {
	event := trace.Source{Source: trace.SourceName(m.name), Op: trace.OpSet, Pods: len(pods), Cause: trace.SourceGiven}
	span := trace.Begin(m.bus, trace.Span{}, event)
	trace.End(m.bus, span, event)
	m.mu.Lock()
	m.queue = append(m.queue, Set{Pods: slices.Clone(pods), Span: span})
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Run implements Source.
func (m *Memory) Run(ctx context.Context, set func(Set)) error {
	for {
		m.mu.Lock()
		queue := m.queue
		m.queue = nil
		m.mu.Unlock()
		for _, s := range queue {
			set(s)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
		}
	}
}
