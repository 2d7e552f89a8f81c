package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/kubeloupe/kubeloupe/trace"
)

// redirectKlog turns what Kubernetes libraries log into records: on standard error it
// would write into the terminal UI.
func redirectKlog(bus *trace.Bus) {
	klog.SetSlogLogger(slog.New(busHandler{bus: bus}))
}

// busHandler publishes log records of info and above.
type busHandler struct {
	bus   *trace.Bus
	attrs []trace.KV
}

// Enabled implements slog.Handler.
func (h busHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle implements slog.Handler.
func (h busHandler) Handle(_ context.Context, r slog.Record) error {
	ev := trace.Log{Level: level(r.Level), Message: r.Message, Attrs: append([]trace.KV(nil), h.attrs...)}
	r.Attrs(func(a slog.Attr) bool {
		ev.Attrs = append(ev.Attrs, trace.KV{K: a.Key, V: a.Value.String()})
		return true
	})
	if ordinary(ev) {
		ev.Level = trace.LevelDebug
	}
	trace.Point(h.bus, trace.Span{}, ev)
	return nil
}

// ordinary reports what libraries call an error and is none: each WebSocket stream ends so.
func ordinary(ev trace.Log) bool {
	return slices.ContainsFunc(ev.Attrs, func(a trace.KV) bool { return strings.Contains(a.V, "use of closed network connection") })
}

// WithAttrs implements slog.Handler.
func (h busHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = slices.Clip(h.attrs)
	for _, a := range attrs {
		h.attrs = append(h.attrs, trace.KV{K: a.Key, V: a.Value.String()})
	}
	return h
}

// WithGroup implements slog.Handler; the few groups that libraries use are not worth a prefix.
func (h busHandler) WithGroup(string) slog.Handler { return h }

func level(l slog.Level) trace.LogLevel {
	switch {
	case l >= slog.LevelError:
		return trace.LevelError
	case l >= slog.LevelWarn:
		return trace.LevelWarn
	}
	return trace.LevelInfo
}
