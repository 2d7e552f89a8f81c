//go:build unix

package nodelock

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestHoldHasPatience: an agent that was killed holds its lock for a moment; one that runs, for longer than anybody waits.
func TestHoldHasPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		old, err := Acquire(filepath.Join(dir, FileName))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = Hold(t.Context(), dir, "", nil)
		if held, ok := errors.AsType[*HeldError](err); !ok || err != error(held) || time.Since(began) != patience {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		time.AfterFunc(patience/2, func() {
			if err := old.Release(); err != nil {
				t.Error(err)
			}
		})
		locks, err := Hold(t.Context(), dir, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := locks.Release(); err != nil {
			t.Error(err)
		}
	})
}
