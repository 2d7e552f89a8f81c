package guard

import (
	"context"
	"os"
	"time"
)

// The files that a relay has from its guard.
const (
	beatingFD = 3
	aliveFD   = 4
)

// Ward is a relay's side of its guard.
type Ward struct {
	beating, alive *os.File
	orphaned       chan struct{}
}

// Warded returns the ward of a process that a guard started; nil of another. Call it once.
func Warded() *Ward {
	if os.Getenv(env) == "" {
		return nil
	}
	_ = os.Unsetenv(env)
	w := &Ward{beating: os.NewFile(beatingFD, "beats"), alive: os.NewFile(aliveFD, "guard"), orphaned: make(chan struct{})}
	go func() {
		defer close(w.orphaned)
		_, _ = w.alive.Read(make([]byte, 1)) // nothing is ever written: it ends with the guard
	}()
	return w
}

// Orphaned is closed when the guard has died.
func (w *Ward) Orphaned() <-chan struct{} { return w.orphaned }

// Beat says that the relay runs and can be reached, until ctx ends.
func (w *Ward) Beat(ctx context.Context) {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		if _, err := w.beating.Write([]byte{1}); err != nil {
			return // the guard has died: Orphaned tells
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
