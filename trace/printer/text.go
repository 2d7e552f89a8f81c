package printer

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// podColumn is the width to which pods are padded, narrowPod that in lines below narrow columns; longer ones shift the rest.
const (
	podColumn = 32
	narrowPod = 20
	narrow    = 120
)

// minText is the minimum width of the description.
const minText = 40

// DefaultWidth is the default width of a line of text, in columns.
const DefaultWidth = 160

// TextOptions is the format of lines.
type TextOptions struct {
	// Relative writes the time since the first record instead of the time of day.
	Relative bool
	// Clock is for a terminal: the time of day in this zone instead of the date and time in UTC, and long lines are continued below their
	// text. nil: not on a terminal.
	Clock *time.Location
	// Width is the maximum width of a line in columns; 0 means DefaultWidth, a negative one no limit. Only prose is cut
	// (node events, decisions, log lines of level info): failures, rejections and the agent's own warnings are always
	// complete.
	Width int
	// Every writes a line for each record, also for those that are not important.
	Every bool
}

// TextSink writes one line for each record that has one. Create it with Text.
type TextSink struct {
	w     *bufio.Writer
	opt   TextOptions
	first int64
}

// Text returns a sink that writes lines to w: time (RFC 3339 UTC with milliseconds,
// or seconds since the first record), duration or -, pod or -, and what happened.
func Text(w io.Writer, opt TextOptions) *TextSink {
	opt.Width = cmp.Or(opt.Width, DefaultWidth)
	return &TextSink{w: bufio.NewWriter(w), opt: opt}
}

// Write implements Sink.
func (s *TextSink) Write(rec *trace.Record) error {
	if s.first == 0 {
		s.first = rec.Time
	}
	text := say.Line(rec)
	if text == "" && s.opt.Every {
		text = say.Every(rec)
	}
	if text == "" {
		return nil
	}
	dur := "-"
	if rec.Edge == trace.EdgeEnd {
		dur = human.Duration(rec.Dur)
	}
	return s.line(rec.Time, dur, rec.Pod.String(), text, prose(rec.Event))
}

// prose reports whether an event's text is for people and may be shortened.
func prose(e trace.Event) bool {
	switch e := e.(type) {
	case *trace.NodeEvent:
		return true
	case *trace.Decision:
		return e.Verdict != trace.VerdictReject
	case *trace.Log:
		return e.Level != trace.LevelError && e.Level != trace.LevelWarn
	}
	return false
}

// Lost implements Sink.
func (s *TextSink) Lost(n uint64, at time.Time) error {
	if s.first == 0 {
		s.first = at.UnixNano()
	}
	return s.line(at.UnixNano(), "-", "", fmt.Sprintf("lost %d records here: this reader was too slow", n), false)
}

// Flush implements Sink.
func (s *TextSink) Flush() error { return s.w.Flush() }

func (s *TextSink) line(ns int64, dur, pod, text string, cut bool) error {
	stamp, column := time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z07:00"), podColumn
	switch {
	case s.opt.Relative:
		stamp = fmt.Sprintf("%9.3f", time.Duration(ns-s.first).Seconds())
	case s.opt.Clock != nil:
		stamp = time.Unix(0, ns).In(s.opt.Clock).Format("15:04:05.000")
	}
	if s.opt.Width > 0 && s.opt.Width < narrow {
		column = narrowPod
	}
	if pod = human.Line(pod); pod == "" {
		pod = "-"
	}
	begin := stamp + "  " + fit.Right(dur, 6) + "  " + fit.Left(pod, column) + "  "
	text = human.Line(text)
	if cut && s.opt.Width > 0 {
		text = fit.Cut(text, max(s.opt.Width-fit.Width(begin), minText), fit.Ellipsis)
	}
	lines := []string{begin + text}
	if s.opt.Clock != nil && s.opt.Width > 0 { // a terminal would break words
		lines = fit.Paragraph(begin, text, s.opt.Width)
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(s.w, l); err != nil {
			return err
		}
	}
	return nil
}
