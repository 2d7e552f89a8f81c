package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/collector"
)

const (
	// batch is how many pods start at once in a flood, batches how many times at most; of these, calm batches are while the Collector is there.
	batch, batches, calm = 75, 40, 6
	// queue is how many spans wait at most (docs/budgets.md), flying how many a request has.
	queue, flying = 16384, 1024
)

// flooded is an agent on the simulated runtime: it starts as many pods as are needed to fill the queue.
type flooded struct {
	address, sock string
	process       *process
}

func (n *flooded) name() string    { return "flooded" }
func (n *flooded) pid() int        { return n.process.pid() }
func (n *flooded) metrics() string { return "http://" + n.address + "/metrics" }
func (n *flooded) socket() string  { return n.sock }

func (*flooded) start(context.Context, int) (time.Duration, string, error) {
	return 0, "", errors.ErrUnsupported
}
func (n *flooded) close(context.Context) error { return n.process.stop() }

// flood has an agent start pods, at first while the Collector is there, then while nobody receives their spans, until its queue is full and trees are
// dropped. Then the Collector comes back, and gets the rest: whole trees. The simulated runtime is in the same process, so its memory is compared
// with that while the Collector was there.
func (f *fleet) flood(ctx context.Context) (err error) {
	dir := filepath.Join(f.dir, "flood")
	manifests := filepath.Join(dir, "manifests")
	if err := os.MkdirAll(manifests, 0o755); err != nil {
		return err
	}
	c, err := collector.New(ctx, dir, os.Stderr)
	if err != nil {
		return err
	}
	n := &flooded{sock: filepath.Join(dir, "s.sock")}
	if n.address, err = collector.FreeAddress(ctx); err != nil {
		return err
	}
	config := filepath.Join(dir, "config.yaml")
	_, port, _ := strings.Cut(n.address, ":")
	if err := os.WriteFile(config, fmt.Appendf(nil, ownConfig, filepath.Join(dir, "log"), port, c.Addr, "maxPods: 1000\n"), 0o600); err != nil {
		return err
	}
	n.process, err = spawn(filepath.Join(dir, "out"), nil, f.bin, "run", "--runtime", "sim", "--no-tui", "--config", config, "--pod-manifest-path", manifests,
		"--healthz-port", "0", "--control-socket", n.sock, "--hostname-override", n.name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(ctx), c.Stop()) }()
	if err := errors.Join(c.Start(ctx), awaitMetrics(ctx, n)); err != nil {
		return err
	}
	began := time.Now()
	well, e, err := f.fill(ctx, n, manifests, 0, calm)
	if err != nil {
		return err
	}
	if err := until(ctx, "end of the export before the flood", func() (bool, error) {
		time.Sleep(time.Second)
		e, err = scrape(ctx, n)
		return e.sent > 0 && e.queued == 0, err
	}); err != nil {
		return err
	}
	if err := c.Stop(); err != nil {
		return err
	}
	most, full, err := f.fill(ctx, n, manifests, calm, batches)
	if err != nil {
		return err
	}
	took := time.Since(began).Round(time.Second)
	f.sayf("flood: %.0f starts in %s, %.0f of them without a receiver: %.0f spans wait and %.0f are dropped; memory at most %d MiB, and %d MiB while the Collector was there\n",
		full.starts, took, full.starts-e.starts, full.queued, full.dropped, most>>20, well>>20)
	switch {
	case full.dropped == 0 || full.queued > queue+flying:
		return fmt.Errorf("the flooded agent counts %+v after %s", full, took)
	case most > well+room:
		return fmt.Errorf("the flooded agent had %d MiB, %d MiB more than the %d MiB while the Collector was there", most>>20, room>>20, well>>20)
	}
	if err := shownBy(ctx, f.bin, n, func(r *report) bool { return r.State == "failing" && r.Err != "" && r.Dropped > 0 }); err != nil {
		return err
	}
	if err := seen(ctx, f.bin, n, "cannot be sent", "queued", "dropped"); err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	var got *received
	err = until(ctx, "rest of the flood", func() (_ bool, err error) {
		time.Sleep(2 * time.Second)
		if e, err = scrape(ctx, n); err != nil {
			return false, err
		}
		got, err = read(c.File)
		return err == nil && e.queued == 0 && e.sent > 0 && got.spans[n.name()]-int(e.sent) <= got.late(n.name(), time.Now().Add(-lag)), err
	})
	if err != nil {
		return fmt.Errorf("%w: %+v, and %d spans came", err, e, got.spans[n.name()])
	}
	starts := 0
	for _, t := range got.traces {
		if t.root == nil {
			continue // a sync, or a run of the garbage collection
		}
		starts++
		if err := t.linked(); err != nil {
			return err
		}
	}
	f.sayf("flood: when the Collector was there again: %.0f spans sent, %.0f dropped; %d starts came, each whole\n", e.sent, e.dropped, starts)
	return nil
}

// fill starts pods until spans are dropped, in the batches from first to before end. most is the agent's memory at most.
func (f *fleet) fill(ctx context.Context, n *flooded, manifests string, first, end int) (most int64, e exported, err error) {
	for b := first; b < end; b++ {
		var files []string
		for i := range batch {
			name := fmt.Sprintf("flood-%d-%d", b, i)
			pod := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: fleet}\nspec:\n  terminationGracePeriodSeconds: 0\n  containers: [{name: main, image: \"lab/web:1\"}]\n", name)
			files = append(files, filepath.Join(manifests, name+".yaml"))
			if err := os.WriteFile(files[i], []byte(pod), 0o600); err != nil {
				return most, e, err
			}
		}
		err := until(ctx, "batch of starts", func() (bool, error) {
			time.Sleep(time.Second)
			now, err := resident(n.pid())
			if err != nil {
				return false, err
			}
			most = max(most, now)
			if last, err := scrape(ctx, n); err == nil { // it may be too busy to answer
				e = last
			}
			return e.starts >= float64((b+1)*batch), nil
		})
		if err != nil {
			return most, e, fmt.Errorf("batch %d: %w: %+v", b+1, err, e)
		}
		if e.dropped > 0 {
			return most, e, nil
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return most, e, err
			}
		}
	}
	return most, e, nil
}
