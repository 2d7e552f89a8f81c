package podsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// updateBuffer is how many updates may wait for the receiver before sources wait.
const updateBuffer = 64

// Config is what a Mux needs.
type Config struct {
	// Sources are run by Mux.Run. There must be at least one; their names must differ.
	Sources []Source
	// Bus may be nil.
	Bus *trace.Bus
	// Events records pods that are ignored; may be nil.
	Events events.Publisher
}

// Mux merges the sets of several sources into one stream of updates, in strict order.
// Upstream: pkg/kubelet/config/config.go, PodConfig.
type Mux struct {
	sources []Source
	bus     *trace.Bus
	events  events.Publisher
	updates chan Update

	mu   sync.Mutex // held while an update is sent, to keep the order
	held map[string]held
	// paths are the manifests of the pods, by source.
	paths map[string]map[types.UID]string
	// same are the pods that are ignored because another one has their name, by source.
	same map[string]map[types.UID]bool

	seenMu sync.Mutex
	unseen map[string]struct{}
}

// New returns a mux over the sources of c.
func New(c Config) (*Mux, error) {
	if len(c.Sources) == 0 {
		return nil, errors.New("pod sources: none configured; give a manifest directory (staticPodPath) or another source")
	}
	m := &Mux{
		sources: c.Sources,
		bus:     c.Bus,
		events:  c.Events,
		updates: make(chan Update, updateBuffer),
		held:    make(map[string]held, len(c.Sources)),
		paths:   make(map[string]map[types.UID]string, len(c.Sources)),
		same:    make(map[string]map[types.UID]bool, len(c.Sources)),
		unseen:  make(map[string]struct{}, len(c.Sources)),
	}
	for _, s := range c.Sources {
		if _, dup := m.unseen[s.Name()]; dup || s.Name() == "" {
			return nil, fmt.Errorf("pod sources: name %q is empty or used twice", s.Name())
		}
		m.unseen[s.Name()] = struct{}{}
	}
	return m, nil
}

// Updates returns the stream of updates. It is never closed, also not when Run's context ends.
func (m *Mux) Updates() <-chan Update { return m.updates }

// Run runs the sources until ctx ends, and returns nil then, or until one fails.
func (m *Mux) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, s := range m.sources {
		wg.Go(func() {
			err := s.Run(ctx, func(set Set) { m.set(ctx, s.Name(), set) })
			if err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("pod source %s: %w", s.Name(), err))
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// set merges one source's complete set and sends the changes.
func (m *Mux) set(ctx context.Context, source string, set Set) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, diff := merge(m.held[source], source, set.Pods, time.Now())
	before := m.paths[source]
	m.held[source], m.paths[source] = next, set.Paths
	for _, p := range diff.duplicates {
		trace.Point(m.bus, trace.ForPod(set.Span, podspec.Ref(p)), trace.SourceError{
			Source:  trace.SourceName(source),
			Path:    set.Paths[p.UID],
			Field:   "metadata.name",
			Message: fmt.Sprintf("another pod of this source already has the name %s/%s or the UID %s; this one is ignored", p.Namespace, p.Name, p.UID),
		})
	}
	m.tellSame(trace.ContextWith(ctx, set.Span), source, slices.Concat(set.Same, diff.named))
	first, all := m.seen(source)
	updates := diff.updates()
	if first && len(updates) == 0 {
		updates = []Update{{Op: OpAdd}}
	}
	for i, u := range updates {
		u.Source, u.Span = source, set.Span
		u.AllSources = all && i == len(updates)-1
		for _, p := range u.Pods {
			trace.Point(m.bus, trace.ForPod(set.Span, podspec.Ref(p)), trace.Source{
				Source: trace.SourceName(source), Op: u.Op, Path: cmp.Or(set.Paths[p.UID], before[p.UID]),
			})
		}
		select {
		case m.updates <- u:
		case <-ctx.Done():
			return
		}
	}
}

// seen records that the source has reported. It returns whether this was the first time, and whether all sources have
// reported.
func (m *Mux) seen(source string) (first, all bool) {
	m.seenMu.Lock()
	defer m.seenMu.Unlock()
	_, first = m.unseen[source]
	delete(m.unseen, source)
	return first, len(m.unseen) == 0
}
