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
	// queue is how many spans wait at most (docs/budgets.md), flying how many a request has.
	queue, flying = 16384, 1024
	// share is how much memory the full queue may take: what docs/budgets.md says, and 8 MiB for a request that is being made and for what else changes.
	share = 16 << 20
)

// flooded is an agent on the simulated runtime: it starts as many pods as are needed to fill the queue.
type flooded struct {
	address, sock string
	manifests     string
	process       *process
	batches       int   // that have started
	most          int64 // its resident memory at most since this was 0, in bytes
}

func (n *flooded) name() string    { return "flooded" }
func (n *flooded) pid() int        { return n.process.pid() }
func (n *flooded) metrics() string { return "http://" + n.address + "/metrics" }
func (n *flooded) socket() string  { return n.sock }

func (*flooded) start(context.Context, int) (time.Duration, string, error) {
	return 0, "", errors.ErrUnsupported
}
func (n *flooded) close(context.Context) error { return n.process.stop() }

// flood has an agent start pods, at first while the Collector is there, until as many spans were sent as the queue has room for, then while nobody
// receives their spans, until the queue is full and trees are dropped. Then the Collector comes back, and gets the rest: whole trees. The simulated
// runtime and what the agent keeps of pods are in the same process, so what it keeps at the end is compared with what it kept while the Collector was there.
// The resident memory at most is compared, too. It also depends on when the collector of garbage gets the processor.
func (f *fleet) flood(ctx context.Context) (err error) {
	dir := filepath.Join(f.dir, "flood")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	c, err := collector.New(ctx, dir, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := c.Start(ctx); err != nil {
		return err
	}
	n, err := newFlooded(ctx, f, dir, c.Addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(ctx)) }()
	calm, err := f.calm(ctx, n)
	if err != nil {
		return err
	}
	if err := c.Stop(); err != nil {
		return err
	}
	if err := f.overflow(ctx, n, calm); err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	return f.drain(ctx, n, c.File)
}

func newFlooded(ctx context.Context, f *fleet, dir, to string) (n *flooded, err error) {
	n = &flooded{sock: filepath.Join(dir, "s.sock"), manifests: filepath.Join(dir, "manifests")}
	if n.address, err = collector.FreeAddress(ctx); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "config.yaml")
	_, port, _ := strings.Cut(n.address, ":")
	text := fmt.Appendf(nil, ownConfig, filepath.Join(dir, "log"), port, fmt.Sprintf(ownTracing, to)+"maxPods: 1000\n")
	if err := errors.Join(os.Mkdir(n.manifests, 0o755), os.WriteFile(config, text, 0o600)); err != nil {
		return nil, err
	}
	n.process, err = spawn(filepath.Join(dir, "out"), nil, f.bin, "run", "--runtime", "sim", "--no-tui", "--config", config, "--pod-manifest-path", n.manifests,
		"--healthz-port", "0", "--control-socket", n.sock, "--hostname-override", n.name())
	if err != nil {
		return nil, err
	}
	if err := awaitMetrics(ctx, n); err != nil {
		return nil, errors.Join(err, n.close(ctx))
	}
	return n, nil
}

// phase is what is counted at the end of a phase, what is in use then, and the resident memory at most, in bytes.
type phase struct {
	exported
	live, resident int64
}

// calm starts pods while the Collector is there.
func (f *fleet) calm(ctx context.Context, n *flooded) (s phase, err error) {
	if s.exported, err = n.fill(ctx, func(e exported) bool { return e.sent >= queue }); err != nil {
		return s, err
	}
	err = until(ctx, "end of the export before the flood", func() (_ bool, err error) {
		time.Sleep(time.Second)
		s.exported, err = n.look(ctx)
		return s.queued == 0, err
	})
	if s.refused+s.dropped > 0 {
		err = errors.Join(err, fmt.Errorf("the agent counts %+v while the Collector is there", s.exported))
	}
	if err != nil {
		return s, err
	}
	s.live, err = n.kept(ctx)
	s.resident, n.most = n.most, 0
	return s, err
}

// overflow starts pods while nobody receives, until the queue is full, and checks the memory and what people are told.
func (f *fleet) overflow(ctx context.Context, n *flooded, calm phase) error {
	began := time.Now()
	var s phase
	var err error
	if s.exported, err = n.fill(ctx, func(e exported) bool { return e.dropped > 0 }); err != nil {
		return err
	}
	took := time.Since(began).Round(time.Second)
	if s.live, err = n.kept(ctx); err != nil {
		return err
	}
	f.sayf("flood: %.0f starts, then %.0f in %s without a receiver: %.0f spans wait and %.0f are dropped\n", calm.starts, s.starts-calm.starts, took, s.queued, s.dropped)
	f.sayf("flood: in use %.1f MiB, and %.1f MiB with the full queue; resident at most %d MiB, then %d MiB\n", mib(calm.live), mib(s.live), calm.resident>>20, n.most>>20)
	switch {
	case s.queued > queue+flying:
		return fmt.Errorf("the flooded agent counts %+v", s.exported)
	case n.most > calm.resident+room:
		return fmt.Errorf("the flooded agent had %d MiB resident, %d MiB more than the %d MiB while the Collector was there", n.most>>20, room>>20, calm.resident>>20)
	case s.live > calm.live+share:
		return fmt.Errorf("the flooded agent uses %.1f MiB, and %.1f MiB while the Collector was there: want at most %d MiB more", mib(s.live), mib(calm.live), share>>20)
	}
	if err := shownBy(ctx, f.bin, n, func(r *report) bool { return r.State == "failing" && r.Err != "" && r.Dropped > 0 }); err != nil {
		return err
	}
	return seen(ctx, f.bin, n, "cannot be sent", "queued", "dropped")
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
