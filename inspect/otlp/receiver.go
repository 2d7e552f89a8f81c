package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/kubeloupe/kubeloupe/inspect/otlp/plugins"
	"github.com/kubeloupe/kubeloupe/trace"
)

// errBusy tells a sender to retry later.
var errBusy = errors.New("too many spans wait to be published: send them again later")

// Receiver receives spans. Use New to create one.
type Receiver struct {
	bus              *trace.Bus
	grpcAddr         string
	httpAddr         string
	mu               sync.Mutex // guards the listeners and wakeup
	grpcLis, httpLis net.Listener
	wakeup           context.CancelFunc
	batches          chan []span
	cni              *plugins.Watcher // nil if disabled
	rate             *rate.Limiter    // of spans
	lag              lag
	counts           counts
	notices          struct{ outside, tooMany, strangers, runs notice }
}

// counts are the atomic counters of Stats.
type counts struct {
	published, foreign, repeated, outside, tooMany, refused, lost, strangers atomic.Uint64
}

// Stats counts spans since the start.
type Stats struct {
	// Published is the number of spans that became records.
	Published uint64
	// Foreign is the number of spans that belong to no CRI call of ours.
	Foreign uint64
	// Repeated is the number of duplicates.
	Repeated uint64
	// Outside is the number of spans outside the time of their call.
	Outside uint64
	// TooMany is the number of spans over the limits per call and per second.
	TooMany uint64
	// Refused is the number of spans that were malformed, too large or too many for one request.
	Refused uint64
	// Lost is the number of spans that were dropped because their parent did not arrive, so that their call is unknown.
	Lost uint64
	// Strangers is the number of connections and runs of CNI plugins by others than root and the runtime.
	Strangers uint64
}

// New checks the addresses and returns a Receiver.
func New(cfg Config) (*Receiver, error) {
	r := &Receiver{bus: cfg.Bus, batches: make(chan []span, maxBatches), rate: rate.NewLimiter(maxRate, 2*maxSpans)}
	var err error
	if cfg.GRPC != "" {
		if r.grpcAddr, err = loopback("OTLP gRPC", cfg.GRPC); err != nil {
			return nil, err
		}
	}
	if cfg.HTTP != "" {
		if r.httpAddr, err = loopback("OTLP HTTP", cfg.HTTP); err != nil {
			return nil, err
		}
	}
	if len(cfg.CNIBinDirs) > 0 {
		if r.cni, err = plugins.New(plugins.Config{Dirs: cfg.CNIBinDirs, Runtime: strings.TrimPrefix(cfg.Runtime, "unix://"), Done: r.ran, Missing: r.noCNI, Stranger: r.strangeRun}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Listen listens on the addresses, so that a port in use is detected before anything else starts. Run calls it if
// necessary.
func (r *Receiver) Listen(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.grpcAddr != "" && r.grpcLis == nil {
		if r.grpcLis, err = listen(ctx, r.grpcAddr, r.admit); err != nil {
			return fmt.Errorf("listen for spans over gRPC: %w", err)
		}
	}
	if r.httpAddr != "" && r.httpLis == nil {
		if r.httpLis, err = listen(ctx, r.httpAddr, r.admit); err != nil {
			if r.grpcLis != nil {
				_ = r.grpcLis.Close()
				r.grpcLis = nil
			}
			return fmt.Errorf("listen for spans over HTTP: %w", err)
		}
	}
	return nil
}

// Addrs returns the listen addresses, "" if a listener is disabled or not yet open.
func (r *Receiver) Addrs() (grpc, http string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.grpcLis != nil {
		grpc = r.grpcLis.Addr().String()
	}
	if r.httpLis != nil {
		http = r.httpLis.Addr().String()
	}
	return grpc, http
}

// Stats returns the counts so far.
func (r *Receiver) Stats() Stats {
	return Stats{
		Published: r.counts.published.Load(), Foreign: r.counts.foreign.Load(), Repeated: r.counts.repeated.Load(),
		Refused: r.counts.refused.Load(), Lost: r.counts.lost.Load(),
		Outside: r.counts.outside.Load(), TooMany: r.counts.tooMany.Load(), Strangers: r.counts.strangers.Load(),
	}
}

// Run serves until ctx is done, which is no error.
func (r *Receiver) Run(ctx context.Context) error { return r.run(ctx, newTree()) }

// Watch is Run for the spans of a kubelet that is not ours, and of its runtime. Their ids are not those of the calls on the bus. Each sync of a
// pod becomes a record that is passed to put, and so does each span of a call that changes something: a [trace.RuntimeSpan] without a pod,
// with the sandbox's id if a span below it has that, and the parent that its sender gave it. Once such a span is on the bus, with its pod
// and below its call, the spans below it follow. put must not call the Receiver.
func (r *Receiver) Watch(ctx context.Context, put func(trace.Record)) error {
	tree := newTree()
	tree.foreign = newAdopter(put)
	return r.run(ctx, tree)
}

// Late returns how long after its end a span arrived lately: senders collect spans for some seconds. It is 0 while none arrives, and at most
// some seconds. It is safe for concurrent use.
func (r *Receiver) Late() time.Duration { return r.lag.most(time.Now()) }

func (r *Receiver) run(ctx context.Context, tree *tree) error {
	cursor := r.bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	if err := r.Listen(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.place(ctx, cursor, tree) })
	if r.grpcLis != nil {
		g.Go(func() error { return r.serveGRPC(ctx, r.grpcLis) })
	}
	if r.httpLis != nil {
		g.Go(func() error { return r.serveHTTP(ctx, r.httpLis) })
	}
	if r.cni != nil {
		g.Go(func() error { r.watchCNI(ctx); return nil })
	}
	return g.Wait()
}

// place follows the bus and publishes what arrives. All it remembers is its own.
func (r *Receiver) place(ctx context.Context, cursor *trace.Cursor, tree *tree) error {
	buf := make([]trace.Record, 0, 256)
	for {
		waiting, stop := context.WithCancel(ctx)
		r.setWakeup(stop)
		for len(r.batches) > 0 {
			batch := <-r.batches
			// The call was published before its request went out: it is on the bus by now.
			for recs, _ := cursor.Poll(buf); len(recs) > 0; recs, _ = cursor.Poll(buf) {
				r.tell(tree.follow(recs))
			}
			r.publish(tree, batch)
		}
		for waiting.Err() == nil {
			recs, _, err := cursor.Next(waiting, buf)
			if errors.Is(err, trace.ErrClosed) {
				stop()
				return nil
			}
			r.tell(tree.follow(recs))
		}
		stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

func (r *Receiver) publish(tree *tree, batch []span) {
	now := time.Now()
	for _, s := range batch {
		r.lag.saw(now, now.Sub(time.Unix(0, s.event.Start).Add(s.event.Dur)))
		if s.cni == "" && !r.rate.Allow() {
			r.count(tooMany)
			continue
		}
		ready, v, refused := tree.add(s)
		r.count(v)
		for _, v := range refused {
			r.count(v)
		}
		r.tell(ready)
	}
	if n := tree.waiting.lost; n > 0 {
		r.counts.lost.Add(n)
		tree.waiting.lost = 0
	}
}

// tell publishes spans whose call is known.
func (r *Receiver) tell(ready []span) {
	for _, s := range ready {
		r.counts.published.Add(1)
		trace.PublishSpan(r.bus, trace.SeenBy(trace.Span{Trace: s.in, ID: s.id, Parent: s.parent, Pod: s.pod}, s.observer, s.lag), s.event)
	}
}

// count counts the spans that were not published, and warns of those that no runtime sends.
func (r *Receiver) count(v verdict) {
	switch v {
	case foreign:
		r.counts.foreign.Add(1)
	case repeated:
		r.counts.repeated.Add(1)
	case outside:
		r.counts.outside.Add(1)
		r.notices.outside.tell(r.bus, "spans were dropped: they lie outside the time of the call that they say they are part of")
	case tooMany:
		r.counts.tooMany.Add(1)
		r.notices.tooMany.tell(r.bus, fmt.Sprintf("spans were dropped: more than %d of one call, or %d a second", maxCallSpans, maxRate))
	case passed:
		r.counts.published.Add(1)
	case placed, held:
	}
}

func (r *Receiver) setWakeup(f context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeup = f
}

// take queues a request's spans. It fails if too many are queued.
func (r *Receiver) take(d decoded) error {
	r.counts.refused.Add(uint64(d.refused))
	if len(d.spans) == 0 {
		return nil
	}
	select {
	case r.batches <- d.spans:
	default:
		return errBusy
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wakeup != nil {
		r.wakeup()
	}
	return nil
}
