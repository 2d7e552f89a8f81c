package oom

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxRecord is the size of the largest record, in bytes. Upstream: the kernel's kernel/printk/internal.h, PRINTKRB_RECORD_MAX and
	// PRINTK_MESSAGE_MAX, at most 8 KiB in all versions.
	maxRecord = 8 << 10
	// maxErrors is how many reads in a row may fail before the watcher gives up.
	maxErrors = 16
)

// Run reports kills until ctx ends or the kernel log cannot be read; then it publishes a warning. It never returns an error.
func (w *Watcher) Run(ctx context.Context) error {
	log, err := w.cfg.Open()
	if err == nil {
		err = w.read(ctx, log)
	}
	if err != nil && ctx.Err() == nil {
		trace.Point(w.cfg.Bus, trace.Span{}, trace.Log{
			Level: trace.LevelWarn, Message: "the kernel log cannot be read: OOM kills are not reported, and there are no SystemOOM Events",
			Attrs: []trace.KV{{K: "file", V: kernelLog}, {K: "error", V: err.Error()}},
		})
	}
	return nil
}

// read reads records until ctx ends or reads fail. It closes log.
func (w *Watcher) read(ctx context.Context, log io.ReadCloser) error {
	stop := context.AfterFunc(ctx, func() { _ = log.Close() })
	defer func() {
		if stop() {
			_ = log.Close()
		}
	}()
	var f fold
	buf := make([]byte, maxRecord)
	for failed := 0; ; {
		n, err := log.Read(buf)
		switch {
		case err == nil:
			failed = 0
			if m, ok := parseRecord(buf[:n]); ok {
				w.report(ctx, f.take(m))
			}
			continue
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return err
		case errors.Is(err, syscall.EPIPE): // records were overwritten before they were read; the next read returns the oldest one
			w.report(ctx, f.lost())
			continue
		}
		if failed++; failed >= maxErrors { // fewer, such as EINVAL: the kernel skips a record that is too large
			return err
		}
	}
}
