package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestRecordingGoesOn: a disk that was full is no end, and is told now and then.
func TestRecordingGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &beside{bus: trace.NewBus(64)}
		cur := b.bus.Subscribe(trace.FromNow)
		ctx, cancel := context.WithTimeout(t.Context(), 16*time.Minute)
		defer cancel()
		runs := 0
		err := b.keepOn(ctx, func() error {
			if runs++; ctx.Err() != nil {
				return nil
			}
			return errors.New("no space left on device")
		})
		if err != nil || runs < 150 {
			t.Errorf("%d runs, %v", runs, err)
		}
		if recs, _ := cur.Poll(make([]trace.Record, 0, 64)); len(recs) != 2 {
			t.Errorf("told %d times in 16 minutes, want 2", len(recs))
		}
	})
}

// TestNoSocketWithoutTheLock: an agent that is turned away makes no socket in the other's directory, not even for a moment.
func TestNoSocketWithoutTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	b := &beside{bus: trace.NewBus(64)}
	b.control = control.New(control.Config{Path: filepath.Join(dir, "c.sock"), Bus: b.bus})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.run(ctx)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it listened: %v", err)
	}
	if err := b.control.Listen(); err != nil { // as with --control-socket
		t.Fatal(err)
	}
	b.listens = true
	if err := b.abandon(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b.control.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket stays: %v", err)
	}
}
