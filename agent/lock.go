package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/nodelock"
	"github.com/kubeloupe/kubeloupe/trace"
)

// locks are what an agent holds while it runs.
type locks struct {
	own    *nodelock.Lock // on the root directory
	shared *nodelock.Lock // --lock-file; nil without
}

// lock makes sure that no other agent works on this root directory, and waits for
// --lock-file as upstream does, which is a named wait.
func lock(ctx context.Context, k *config.Config, bus *trace.Bus) (*locks, error) {
	own, err := nodelock.Acquire(filepath.Join(k.Node.RootDir, nodelock.FileName))
	if err != nil {
		return nil, err
	}
	if k.Node.LockFile == "" {
		return &locks{own: own}, nil
	}
	done := func() {}
	shared, err := nodelock.Wait(ctx, k.Node.LockFile, func(held *nodelock.HeldError) {
		wait := trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetLockFile, Name: held.Path}, Cause: held.Error()}
		span := trace.Begin(bus, trace.Span{}, wait)
		done = func() { trace.End(bus, span, wait) }
	})
	done()
	if err != nil {
		return nil, errors.Join(err, own.Release())
	}
	return &locks{own: own, shared: shared}, nil
}

// contended returns when another process wants --lock-file, which is true, or ctx ends.
func (l *locks) contended(ctx context.Context) (bool, error) {
	if l.shared == nil {
		return false, nil
	}
	err := l.shared.Contended(ctx)
	if err != nil && ctx.Err() == nil {
		return false, fmt.Errorf("--exit-on-lock-contention: %w", err)
	}
	return err == nil, nil
}

func (l *locks) release() error {
	var err error
	if l.shared != nil {
		err = l.shared.Release()
	}
	return errors.Join(err, l.own.Release())
}
