package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/printer"
)

// show runs the agent without a terminal: lines, a waterfall, the pods' end.
func (d *demo) show(ctx context.Context, w io.Writer) (err error) {
	a, err := d.launch(d.manifests)
	if err != nil {
		return err
	}
	text := printer.Text(w, printer.TextOptions{Relative: true})
	each := func(r *trace.Record) { err = errors.Join(err, text.Write(r), text.Flush()) }
	// deferred, so that a failure shows what the agent said last
	defer func() {
		stopped := a.stop(each)
		err = errors.Join(err, stopped)
	}()

	p := newProgress(samples())
	follow := func(what string, done func() bool) error {
		for !done() {
			r, readErr := a.next(ctx)
			if readErr != nil {
				return fmt.Errorf("waiting for %s: %w", what, readErr)
			}
			each(&r)
			p.apply(&r)
			if p.err != nil || err != nil {
				return errors.Join(p.err, err)
			}
		}
		return nil
	}
	if err := follow("the agent to be ready", func() bool { return p.ready }); err != nil {
		return err
	}
	for _, s := range samples() {
		if err := d.put(s); err != nil {
			return err
		}
	}
	interrupted := follow("the pods", p.arrived)
	if interrupted == nil && d.lab != nil { // it tells of its part a second later
		interrupted = follow("containerd's spans", func() bool { return p.told })
	}
	if interrupted == nil {
		interrupted = d.explain(w, p)
	} else {
		interrupted = fmt.Errorf("%w (missing: %s)", interrupted, p.missing())
	}
	if errors.Is(interrupted, errEnded) {
		return interrupted
	}
	// The pods are deleted in any case, and with time of its own if that was up.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), time.Minute, errors.New("not within a minute"))
	defer cancel()
	d.say("deleting the pods")
	for _, s := range samples() {
		if err := os.Remove(d.file(s)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return errors.Join(interrupted, err)
		}
	}
	return errors.Join(interrupted, follow("the pods to be gone", p.gone))
}

// explain prints how the pod whose image had to be pulled started, as kubeloupe trace and kubeloupe why would.
func (d *demo) explain(w io.Writer, p *progress) error {
	pod := p.pods[explained].pod
	f, err := waterfall.Build(p.recs, pod)
	if err != nil {
		return fmt.Errorf("waterfall of %s: %w", pod, err)
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", f.Text(100, waterfall.TextOptions{})); err != nil {
		return err
	}
	s := session.New(session.Options{})
	for i := range p.recs {
		s.Apply(&p.recs[i])
	}
	l, err := s.Find(pod.String())
	if err != nil {
		return err
	}
	if err := why.Text(w, why.Explain(s.Case(l, s.Last())), why.TextOptions{Width: 100, Zone: time.Local}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w)
	return err
}
