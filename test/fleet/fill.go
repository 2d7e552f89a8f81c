package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// batch is how many pods start at once in a flood, each with so many containers, because these make spans. batches is how many there are at most until
// there are as many spans as the queue has room for.
const batch, containers, batches = 40, 8, 20

// look reads the agent's counts and its memory.
func (n *flooded) look(ctx context.Context) (exported, error) {
	memory, err := resident(n.pid())
	if err != nil {
		return exported{}, err
	}
	n.most = max(n.most, memory)
	return scrape(ctx, n)
}

// kept is how much memory is in use, in bytes, while no pod runs: what a collection of garbage has found that began after this. Each look makes garbage, so
// there is one soon.
func (n *flooded) kept(ctx context.Context) (live int64, err error) {
	var first, e exported
	err = until(ctx, "collection of garbage", func() (_ bool, err error) {
		if e, err = n.look(ctx); e.running > 0 || first.collections == 0 {
			first = e
		}
		return e.live > 0 && e.collections >= first.collections+2, err // the first one may have begun before
	})
	if err != nil {
		return 0, fmt.Errorf("%w: %+v", err, e)
	}
	return int64(e.live), nil
}

// fill starts pods, and removes them, until there are enough.
func (n *flooded) fill(ctx context.Context, enough func(exported) bool) (e exported, err error) {
	for range batches {
		if e, err = n.batch(ctx); err != nil || enough(e) {
			return e, err
		}
	}
	return e, fmt.Errorf("not enough after %d batches of %d starts: %+v", batches, batch, e)
}

// batch starts some pods, waits until their starts are counted, and removes them.
func (n *flooded) batch(ctx context.Context) (e exported, err error) {
	var files []string
	defer func() {
		for _, file := range files {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	for i := range batch {
		pod := fmt.Sprintf("flood-%d-%d", n.batches, i)
		file := filepath.Join(n.manifests, pod+".yaml")
		if err := os.WriteFile(file, []byte(manifest(pod)), 0o600); err != nil {
			return e, err
		}
		files = append(files, file)
	}
	n.batches++
	err = until(ctx, "batch of starts", func() (bool, error) {
		time.Sleep(time.Second)
		now, err := n.look(ctx)
		if err == nil { // it may be too busy to answer
			e = now
		}
		return e.starts >= float64(n.batches*batch), nil
	})
	if err != nil {
		err = fmt.Errorf("batch %d: %w: %+v", n.batches, err, e)
	}
	return e, err
}

func manifest(pod string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: fleet}\nspec:\n  terminationGracePeriodSeconds: 0\n  containers:\n", pod)
	for i := range containers {
		fmt.Fprintf(&s, "  - {name: c%d, image: \"lab/web:1\"}\n", i)
	}
	return s.String()
}
