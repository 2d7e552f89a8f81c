package watch

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/inspect/attach/podresources"
	"github.com/kubeloupe/kubeloupe/inspect/attach/podsapi"
	"github.com/kubeloupe/kubeloupe/inspect/attach/runtimeevents"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxLater bounds the milestones that wait for the logs, for each observer.
const maxLater = 1 << 12

// Observer sees a kubelet beside its log and the runtime's. What it tells is merged with what the logs tell.
type Observer struct {
	// Name is what people call it, such as PodsAPI; it stands in messages.
	Name string
	// Late is how much later than their times its records come at most, at present; nil is not at all. More than two seconds delay all others.
	Late func() time.Duration
	// Run passes on records, about in the order of their times, until ctx ends or it can see nothing more, which is an error: this is said
	// once, and Run is called again after five seconds. Each record needs its Observer, Precision and ids of [trace.NewSpanID]; put copies it,
	// and blocks while the watch is busy. Milestones may be told by the logs as well: they are held back until those had their say.
	Run func(ctx context.Context, put func(trace.Record)) error
	// See, if it is set, gets each record before it is published, and may add what only this observer knows. It must not change the event
	// itself, which others may have. It returns false to take back a record of its own, of which another one tells more. It is called by one
	// goroutine, also while Run is not under way.
	See func(*trace.Record) (keep bool)
}

// beside is an observer at work.
type beside struct {
	Observer
	input *merge.Input
	later []trace.Record
}

// observersOf are the observers of what was found. A kubelet that was started again may have its files elsewhere, and other APIs: each run of
// an observer takes what is there by then.
func (w *Watch) observersOf() (all []Observer) {
	f := w.cfg.Found
	all = append(all, Observer{Name: "PodsAPI", Run: func(ctx context.Context, put func(trace.Record)) error {
		socket, err := w.there(ctx, func(f *discover.Found) string { return f.PodsAPI })
		if err != nil {
			return err
		}
		return podsapi.Watch(ctx, socket, put)
	}})
	if f.PodResources != "" {
		p := podresources.New(f.PodResources, podresources.Machine{Policies: f.Config.Policies, NUMA: f.NUMA})
		all = append(all, Observer{Name: "the podresources API", See: p.See, Run: func(ctx context.Context, put func(trace.Record)) error {
			socket, err := w.there(ctx, func(f *discover.Found) string { return f.PodResources })
			if err != nil {
				return err
			}
			p.Move(socket)
			return p.Run(ctx, put)
		}})
	}
	if r := &f.Runtime; r.Process != nil && r.Name == "containerd" {
		all = append(all, Observer{Name: "containerd's event stream", Late: eventDelay, Run: runtimeevents.New(r.Open).Run})
	}
	return all
}

// there is the path of a socket, once the kubelet has it.
func (w *Watch) there(ctx context.Context, path func(*discover.Found) string) (string, error) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		if socket := path(w.Found()); socket != "" {
			return socket, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-t.C:
		}
	}
}

// eventDelay is how late containerd's events come.
func eventDelay() time.Duration { return time.Second }

// observe runs an observer until ctx ends.
func (w *Watch) observe(ctx context.Context, g *errgroup.Group, o Observer) {
	in := w.merger.Input()
	if in == nil {
		return
	}
	b := &beside{Observer: o, input: in}
	w.beside = append(w.beside, b)
	put := func(r trace.Record) { w.pass(ctx, message{by: b, rec: r}) }
	g.Go(func() error {
		return w.repeat(ctx, o.Name, func(time.Time) error { return o.Run(ctx, put) }, func() bool { return ctx.Err() == nil })
	})
}

// takeSeen takes in what an observer saw.
func (w *Watch) takeSeen(m *message) {
	if e, ok := m.rec.Event.(*trace.Milestone); ok {
		if e.Name == trace.MilestoneSeen && e.Spec != nil {
			w.kubelet.Know(m.rec.Pod, e.Spec)
		} else if len(m.by.later) < maxLater { // the logs know better, and are held back
			m.by.later = append(m.by.later, m.rec)
			return
		}
	}
	m.by.input.Put(m.rec)
}

// A milestone whose time is more than setBack ahead of the clock is of before the clock was set back.
const setBack = 5 * time.Second

// first is how long the logs' past waits for what observers tell first: pods' specs.
const first = time.Second

// see shows a record that is due to the observers. It reports whether it is to be published.
func (w *Watch) see(r *trace.Record) bool {
	for _, b := range w.beside {
		if b.See != nil && !b.See(r) {
			return false
		}
	}
	return true
}

// seenUntil lets time pass for observers that see nothing.
func (w *Watch) seenUntil(at int64) {
	if time.Since(w.began) < first { // by the monotonic clock: the other one may be set back
		return
	}
	for _, b := range w.beside {
		for len(b.later) > 0 && (b.later[0].Time < at-int64(hold+2*window) || b.later[0].Time > at+int64(setBack)) {
			b.input.Put(b.later[0])
			b.later = b.later[1:]
		}
		late := time.Duration(0)
		if b.Late != nil {
			late = b.Late()
		}
		b.input.Until(at - int64(late))
	}
}
