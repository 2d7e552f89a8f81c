package printer

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// podColumn is the width to which pods are padded; longer ones push the rest along.
const podColumn = 32

// TextOptions say how lines begin.
type TextOptions struct {
	// Relative writes the time since the first record instead of the time of day.
	Relative bool
}

// TextSink writes one line per record worth one. Build it with Text.
type TextSink struct {
	w     *bufio.Writer
	opt   TextOptions
	first int64
}

// Text returns a sink that writes lines to w: time (RFC 3339 UTC with milliseconds,
// or seconds since the first record), duration or -, pod or -, and what happened.
func Text(w io.Writer, opt TextOptions) *TextSink {
	return &TextSink{w: bufio.NewWriter(w), opt: opt}
}

// Write implements Sink.
func (s *TextSink) Write(rec *trace.Record) error {
	if s.first == 0 {
		s.first = rec.Time
	}
	text := Line(rec)
	if text == "" {
		return nil
	}
	dur := "-"
	if rec.Edge == trace.EdgeEnd {
		dur = human.Duration(rec.Dur)
	}
	return s.line(rec.Time, dur, rec.Pod.String(), text)
}

// Lost implements Sink.
func (s *TextSink) Lost(n uint64, at time.Time) error {
	if s.first == 0 {
		s.first = at.UnixNano()
	}
	return s.line(at.UnixNano(), "-", "", fmt.Sprintf("lost %d records here: this reader was too slow", n))
}

// Flush implements Sink.
func (s *TextSink) Flush() error { return s.w.Flush() }

func (s *TextSink) line(ns int64, dur, pod, text string) error {
	stamp := time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	if s.opt.Relative {
		stamp = fmt.Sprintf("%9.3f", time.Duration(ns-s.first).Seconds())
	}
	if pod = human.Line(pod); pod == "" {
		pod = "-"
	}
	_, err := fmt.Fprintf(s.w, "%s  %s  %s  %s\n", stamp, padLeft(dur, 6), padRight(pod, podColumn), human.Line(text))
	return err
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) + s
}

func padRight(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
