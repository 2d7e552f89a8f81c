package nodelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestContended(t *testing.T) {
	lock, err := Acquire(filepath.Join(t.TempDir(), FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lock.Contended(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}

	done := make(chan error, 1)
	go func() { done <- lock.Contended(t.Context()) }()
	// The watch may not exist yet, so try the lock repeatedly, as a process in Wait does.
	for late := time.After(time.Minute); ; {
		if _, err := Acquire(lock.file.Name()); err == nil {
			t.Fatal("got a held lock")
		}
		select {
		case <-late:
			t.Fatal("that somebody asks for the lock is not told within a minute")
		case err := <-done:
			if err != nil {
				t.Errorf("Contended: %v", err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func TestContendedNeedsTheFile(t *testing.T) {
	lock, err := Acquire(filepath.Join(t.TempDir(), FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	if err := os.Remove(lock.file.Name()); err != nil {
		t.Fatal(err)
	}
	if err := lock.Contended(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
