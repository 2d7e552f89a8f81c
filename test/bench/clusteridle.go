package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	v1 "k8s.io/api/core/v1"
)

// idles measures what an agent uses when nothing happens. It calls the runtime through a relay that
// counts; the API server counts itself what nodes ask.
func (c *clusterBench) idles(ctx context.Context) error {
	r, err := newRelay(ctx, filepath.Join(c.dir, "r-"+string(c.kind)), strings.TrimPrefix(c.node.lab.RuntimeEndpoint, "unix://"))
	if err != nil {
		return err
	}
	defer r.close()
	if err := c.startOnly(ctx, "--container-runtime-endpoint=unix://"+r.path); err != nil {
		return err
	}
	if err := c.agent.WaitReady(ctx); err != nil {
		return err
	}
	var pods []*v1.Pod
	for _, size := range []int{0, 30, 60} {
		for len(pods) < size {
			p := bound(plain(c.node.lab))
			pods = append(pods, p)
			if err := c.create(ctx, p); err != nil {
				return err
			}
		}
		for _, p := range pods {
			if _, err := c.seen.awaitReady(ctx, p.Name); err != nil {
				return err
			}
		}
		if err := c.idleAt(ctx, size, r); err != nil {
			return err
		}
	}
	if err := c.removeAll(ctx, pods); err != nil {
		return err
	}
	return c.stopAgent(ctx)
}

// idleAt measures with so many pods.
func (c *clusterBench) idleAt(ctx context.Context, size int, r *relay) error {
	if err := sleep(ctx, 20*time.Second); err != nil {
		return err
	}
	before, err := c.use(ctx, r)
	if err != nil {
		return err
	}
	if err := sleep(ctx, c.o.idle); err != nil {
		return err
	}
	after, err := c.use(ctx, r)
	if err != nil {
		return err
	}
	minutes := c.o.idle.Minutes()
	title := fmt.Sprintf("idle, %d pods: ", size)
	c.table.line(title+"CPU", "ms/min", ofUpstream(0.3)).value(c.kind, milli(after.cpu-before.cpu)/minutes)
	c.table.line(title+"RSS", "MiB", atMost(60)).value(c.kind, float64(after.rss)/(1<<20))
	c.table.line(title+"wake-ups", "per min", ofUpstream(0.3)).value(c.kind, (after.wakeups-before.wakeups)/minutes)
	c.table.line(title+"CRI calls", "per min", ofUpstream(0.3)).value(c.kind, (after.cri-before.cri)/minutes)
	// The lease alone: every 10 s.
	c.table.line(title+"API calls", "per min", atMost(6)).value(c.kind, (after.api-before.api)/minutes)
	return nil
}

// used is what an agent used so far, rss what it uses.
type used struct {
	cpu               time.Duration
	rss               int64
	wakeups, cri, api float64
}

func (c *clusterBench) use(ctx context.Context, r *relay) (used, error) {
	var u used
	var err error
	if u.cpu, u.rss, err = usage(c.agent.PID()); err != nil {
		return u, err
	}
	if u.wakeups, err = wakeups(c.agent.PID()); err != nil {
		return u, err
	}
	u.cri = float64(r.calls.Load())
	u.api, err = c.apiCalls(ctx)
	return u, err
}

// wakeups counts how often the process's threads went to sleep of their own will.
func wakeups(pid int) (float64, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // the thread ended
		}
		for line := range strings.Lines(string(data)) {
			if v, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
				if err != nil {
					return 0, err
				}
				sum += n
			}
		}
	}
	return sum, nil
}

// apiCalls counts what nodes asked of the API server, watches included when they begin: it keeps nodes
// apart in its flow control.
func (c *clusterBench) apiCalls(ctx context.Context) (float64, error) {
	text, err := c.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return 0, fmt.Errorf("read the API server's metrics: %w", err)
	}
	sum := 0.0
	for _, m := range families["apiserver_flowcontrol_dispatched_requests_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "flow_schema" && strings.HasPrefix(l.GetValue(), "system-node") {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
