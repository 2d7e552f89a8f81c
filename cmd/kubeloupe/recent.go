package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/printer"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// sinceFlag is kubectl's --since: only what is newer than a duration before now; before the end, of a recording.
type sinceFlag struct{ ago time.Duration }

func (s *sinceFlag) add(c *cobra.Command, what string) {
	c.Flags().DurationVar(&s.ago, "since", 0, what+" newer than this `DURATION`, such as 5s, 2m or 3h, before now or before the end of the recording; 0 is all")
	must(c.RegisterFlagCompletionFunc("since", oneOf("30s", "5m", "1h")))
}

func (s *sinceFlag) check() error {
	if s.ago < 0 {
		return fmt.Errorf("--since %v: must be 0 or more, such as 5m", s.ago)
	}
	return nil
}

// checkTail refuses what --tail cannot be.
func checkTail(n int) error {
	if n < -1 {
		return fmt.Errorf("--tail %d: must be 0 or more, or -1 for all", n)
	}
	return nil
}

// from is the time from which something is new enough; zero if all is.
func (s *sinceFlag) from(now time.Time) time.Time {
	if s.ago == 0 {
		return time.Time{}
	}
	return now.Add(-s.ago)
}

// has reports whether a pod's run began recently enough.
func (s *sinceFlag) has(run *store.PodRun, now time.Time) bool {
	return s.ago == 0 || !time.Unix(0, run.Times.From).Before(s.from(now))
}

// lookAhead reads what has to be known before records are printed while they are read: the labels of pods for --selector, and the time of
// --since, which is before the end of a recording.
func (l *listening) lookAhead(ctx context.Context) (since time.Time, err error) {
	labels := l.selection.given()
	switch {
	case !labels && (l.since.ago == 0 || l.observed.from == ""):
		return l.since.from(time.Now()), nil
	case l.observed.from == "-" && labels:
		return since, userError{errors.New("--selector needs the labels of all pods first, and standard input can be read only once: write it to a file first")}
	case l.observed.from == "-":
		return since, userError{errors.New("--since counts from the end of the recording, and standard input can be read only once: write it to a file first")}
	}
	own, found := l.observed, newPodSet()
	end, err := own.fold(ctx, l.s.in, l.selection.with(found)...)
	if err != nil {
		return since, err
	}
	for _, p := range found.list() {
		l.holds(p)
	}
	return l.since.from(end), l.selection.learned(l.s)
}

// last prints the last n records of a source that have a line; with all, of all its records.
func last(ctx context.Context, src source, n int, all bool, sink printer.Sink) error {
	kept := make([]trace.Record, 0, min(n, 1024))
	oldest := 0 // of a full ring
	buf := make([]trace.Record, 0, 256)
	for {
		recs, _, err := src.Next(ctx, buf)
		for i := range recs {
			switch r := &recs[i]; {
			case n == 0 || !all && say.Line(r) == "":
			case len(kept) < n:
				kept = append(kept, *r)
			default:
				kept[oldest] = *r
				oldest = (oldest + 1) % n
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil {
			break
		}
	}
	for i := range kept {
		if err := sink.Write(&kept[(oldest+i)%len(kept)]); err != nil {
			return err
		}
	}
	return sink.Flush()
}
