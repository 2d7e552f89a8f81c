package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// process is a kubeloupe that runs. Its output goes to a file.
type process struct {
	cmd *exec.Cmd
	out string
}

func spawn(out string, env []string, bin string, args ...string) (*process, error) {
	f, err := os.Create(out)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // the process has its own
	p := &process{cmd: exec.Command(bin, args...), out: out}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = f, f, append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends it. The error has the end of its output.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // Wait says more
	kill := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	if err := p.cmd.Wait(); err != nil {
		text, _ := os.ReadFile(p.out)
		return fmt.Errorf("%s: %w\n%s", p.cmd, err, text[max(0, len(text)-2000):])
	}
	return nil
}

// resident is the resident memory of a process, in bytes.
func resident(pid int) (n int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, err := fmt.Sscan(rest, &n)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}

// awaitMetrics waits until a node answers with its metrics.
func awaitMetrics(ctx context.Context, n node) error {
	return until(ctx, "metrics of "+n.name(), func() (bool, error) {
		_, err := scrape(ctx, n)
		return err == nil, ctx.Err()
	})
}

// exported are the counts of a node's export, and what an agent's process tells besides: running pods, how many bytes were in use when garbage was
// collected last, and how often it was.
type exported struct{ sent, refused, dropped, queued, starts, running, live, collections float64 }

// scrape reads a node's metrics.
func scrape(ctx context.Context, n node) (e exported, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.metrics(), nil)
	if err != nil {
		return e, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return e, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK {
		return e, errors.New(resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return e, err
	}
	for _, m := range families["kubeloupe_exported_spans_total"].GetMetric() {
		v := m.GetCounter().GetValue()
		switch m.GetLabel()[0].GetValue() {
		case "sent":
			e.sent = v
		case "refused":
			e.refused = v
		case "dropped":
			e.dropped = v
		}
	}
	for _, m := range families["kubeloupe_export_queue_spans"].GetMetric() {
		e.queued = m.GetGauge().GetValue()
	}
	for _, m := range families["kubeloupe_pod_starts_total"].GetMetric() {
		e.starts += m.GetCounter().GetValue()
	}
	for _, m := range families["kubelet_running_pods"].GetMetric() {
		e.running = m.GetGauge().GetValue()
	}
	for _, m := range families["go_gc_heap_live_bytes"].GetMetric() {
		e.live = m.GetGauge().GetValue()
	}
	for _, m := range families["go_gc_cycles_total_gc_cycles_total"].GetMetric() {
		e.collections = m.GetCounter().GetValue()
	}
	return e, nil
}
