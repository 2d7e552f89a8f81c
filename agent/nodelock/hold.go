//go:build unix

package nodelock

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Locks are the locks of a running agent.
type Locks struct {
	own    *Lock // on the root directory
	shared *Lock // --lock-file; may be nil
}

// patience is how long the lock of a root directory may still be held: threads of an agent that was killed may need a moment to end.
const patience = 2 * time.Second

// acquireSoon is Acquire, with some patience.
func acquireSoon(ctx context.Context, path string) (*Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := Wait(ctx, path, nil)
	if held, ok := errors.AsType[*HeldError](err); ok {
		return nil, held
	}
	return lock, err
}

// Hold takes the lock of the root directory, so that no other agent works there, and waits for lockFile (--lock-file) if it is not empty.
// The wait is published.
//
// Upstream: cmd/kubelet/app/server.go, run (--lock-file).
func Hold(ctx context.Context, rootDir, lockFile string, bus *trace.Bus) (*Locks, error) {
	own, err := acquireSoon(ctx, filepath.Join(rootDir, FileName))
	if err != nil {
		return nil, err
	}
	if lockFile == "" {
		return &Locks{own: own}, nil
	}
	done := func() {}
	shared, err := Wait(ctx, lockFile, func(held *HeldError) {
		wait := trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetLockFile, Name: held.Path}, Cause: held.Error()}
		span := trace.Begin(bus, trace.Span{}, wait)
		done = func() { trace.End(bus, span, wait) }
	})
	done()
	if err != nil {
		return nil, errors.Join(err, own.Release())
	}
	return &Locks{own: own, shared: shared}, nil
}

// Contended returns true when another process wants --lock-file, and false when ctx ends or there is no such file.
func (l *Locks) Contended(ctx context.Context) (bool, error) {
	if l.shared == nil {
		return false, nil
	}
	err := l.shared.Contended(ctx)
	if err != nil && ctx.Err() == nil {
		return false, fmt.Errorf("--exit-on-lock-contention: %w", err)
	}
	return err == nil, nil
}

// Release releases all locks.
func (l *Locks) Release() error {
	var err error
	if l.shared != nil {
		err = l.shared.Release()
	}
	return errors.Join(err, l.own.Release())
}
