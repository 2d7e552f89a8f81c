package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/trace"
)

// watchPause is the time between two looks at a list: changes within it are printed as one.
const watchPause = 200 * time.Millisecond

// canWatch says whether --watch can be used.
func (l *looking) canWatch(subject *report.Subject) error {
	switch {
	case l.from == "-":
		return errors.New("--watch needs a running agent: standard input is read to its end, and does not change then")
	case l.from != "":
		return fmt.Errorf("--watch needs a running agent: %s is finished and does not change; replay shows how it was", l.from)
	case !subject.Watch:
		return fmt.Errorf("inspect %s cannot be watched: --watch is for pods, workers and volumes", subject.Name)
	}
	return nil
}

// batch are records of an agent, or the end of its stream.
type batch struct {
	recs []trace.Record
	lost uint64
	err  error
}

// watching is a list that is printed as it changes.
type watching struct {
	*looking
	subject report.Subject
	named   string // the pod, as it was named; "" for all
	args    report.Args
	model   *model.Model
	print   *report.Watch
	began   bool // the list was printed
	changed bool // there were records since it was
}

// watch prints a list as it is, and then the rows that change, until ctx ends or the agent stops.
func (l *looking) watch(ctx context.Context, w *watching) error {
	src, closing, err := l.open(ctx, l.s.in, true)
	if err != nil {
		return err
	}
	defer closing()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, _ := src.(interface{ Live() bool })
	batches, next := make(chan batch), make(chan struct{})
	go read(ctx, src, batches, next)
	into := l.selection.with(w.model)
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if stream.Live() {
				err = w.look(time.Now())
			}
		case b := <-batches:
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(b.err, control.ErrEnded), errors.Is(b.err, io.EOF):
				return w.look(time.Now())
			case b.err != nil:
				return errors.Join(w.look(time.Now()), b.err)
			}
			fold(b, into)
			w.changed = true
			select {
			case next <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// fold takes in a batch.
func fold(b batch, into []folder) {
	for _, f := range into {
		f.Lost(b.lost)
		for i := range b.recs {
			f.Apply(&b.recs[i])
		}
	}
}

// read reads batches, each when the one before it was taken in.
func read(ctx context.Context, src source, to chan<- batch, next <-chan struct{}) {
	buf := make([]trace.Record, 0, 512)
	for {
		recs, lost, err := src.Next(ctx, buf)
		select {
		case to <- batch{recs, lost, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// look prints what has changed.
func (w *watching) look(now time.Time) (err error) {
	if w.began && !w.changed {
		return nil
	}
	w.args.Now = now
	if !w.began && w.named != "" {
		if w.args.Pod, err = w.subject.Find(w.model, w.named); err != nil {
			return userError{err}
		}
	}
	t, err := report.Make(w.subject.Name, w.model, w.args)
	if err != nil {
		return userError{err}
	}
	if !w.began {
		if err := w.selection.learned(w.s); err != nil {
			return err
		}
	}
	w.began, w.changed = true, false
	return w.print.Next(t)
}
