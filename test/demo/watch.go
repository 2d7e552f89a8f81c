package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// pause is between two manifests while somebody watches.
const pause = 700 * time.Millisecond

// watch runs the agent with its UI in front until the user quits.
func (d *demo) watch(ctx context.Context) error {
	d.say("the pods' manifests are in %s: edit them in another shell and watch; q quits", d.manifests)
	d.say("to look from there: %s tui --socket %s (or why batch/big-%s, trace, inspect pods, ...)", d.bin, filepath.Join(d.root(), "kubeloupe.sock"), nodeName)
	cmd := d.command(d.manifests)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	// Whatever ends us ends the agent, which gives the terminal back.
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()

	writing, quit := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var putErr error
	wg.Go(func() { putErr = d.putAll(writing) })
	err := cmd.Wait()
	quit()
	wg.Wait()
	if err != nil {
		err = fmt.Errorf("the agent: %w", err)
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return errors.Join(err, putErr)
}

// putAll writes the manifests one by one until ctx ends.
func (d *demo) putAll(ctx context.Context) error {
	for _, s := range samples() {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if err := d.put(s); err != nil {
			return err
		}
	}
	return nil
}
