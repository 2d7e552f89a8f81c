package promcheck

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

var binary = flag.String("kubeloupe", "", "the program; by default, it is built from ../..")

// observed is what two Prometheuses scraped of an agent and of attach, and what their collector received.
type observed struct {
	native, text *prom
	starts       map[string]string // pods by the traces of their starts
}

// observe runs both programs once for all tests.
var observe = sync.OnceValues(func() (*observed, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "promcheck-")
	if err != nil {
		return nil, err
	}
	cleanups = append(cleanups, func() { os.RemoveAll(dir) }) //nolint:errcheck // a temporary directory
	return observeIn(ctx, dir)
})

var cleanups []func()

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	for _, f := range cleanups {
		f()
	}
	os.Exit(code)
}

func watched(t *testing.T) *observed {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the program is not built")
	}
	o, err := observe()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// observeIn starts an agent and attach, and scrapes both until all starts are counted.
func observeIn(ctx context.Context, dir string) (_ *observed, err error) {
	bin := *binary
	if bin == "" {
		bin = filepath.Join(dir, "kubeloupe")
		build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/kubeloupe")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	var o observed
	for _, p := range []**prom{&o.native, &o.text} {
		var closeIt func()
		if *p, closeIt, err = newProm(); err != nil {
			return nil, err
		}
		cleanups = append(cleanups, closeIt)
	}
	r, collector, err := receive(ctx)
	if err != nil {
		return nil, err
	}
	agent, agentAt, err := startAgent(ctx, bin, dir, collector)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.stop()) }()
	attach, attachAt, err := startAttach(ctx, bin, dir, collector)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, attach.stop()) }()

	targets := map[string]model.LabelSet{
		"kubeloupe": {"__address__": model.LabelValue(agentAt), "__meta_kubernetes_node_name": "n1"},
		"kubeloupe-attach": {
			"__address__": model.LabelValue(attachAt), "__meta_kubernetes_pod_node_name": "n2", "__meta_kubernetes_pod_container_port_name": "metrics",
		},
	}
	scraping, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	fail := make([]error, 2)
	wg.Go(func() { fail[0] = o.native.scrape(scraping, targets, false) })
	wg.Go(func() { fail[1] = o.text.scrape(scraping, targets, true) })
	defer func() {
		stop()
		wg.Wait()
		err = errors.Join(err, fail[0], fail[1])
		r.mu.Lock()
		o.starts = r.starts
		r.mu.Unlock()
	}()

	if err := until(ctx, "the agent reports an image that cannot be pulled", func() (bool, error) {
		return o.native.has(ctx, `kubelet_runtime_operations_errors_total{operation_type="pull_image"} > 0`)
	}); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, "pods", "broken.yaml")); err != nil { // its start has failed then
		return nil, err
	}
	for _, p := range []*prom{o.native, o.text} {
		for _, want := range []string{
			`sum(kubeloupe_pod_starts_total{job="kubeloupe"}) >= 4`, `sum(kubeloupe_pod_starts_total{job="kubeloupe-attach"}) >= 5`,
			`kubeloupe_exported_spans_total{result="sent",job="kubeloupe"} > 0`, `kubeloupe_exported_spans_total{result="sent",job="kubeloupe-attach"} > 0`,
		} {
			if err := until(ctx, want, func() (bool, error) { return p.has(ctx, want) }); err != nil {
				return nil, fmt.Errorf("%w\nthe agent:\n%s\nattach:\n%s", err, agent.said(), attach.said())
			}
		}
	}
	return &o, nil
}

// until waits until a condition is true.
func until(ctx context.Context, what string, is func() (bool, error)) error {
	for {
		ok, err := is()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *prom) has(ctx context.Context, expr string) (bool, error) {
	v, err := p.ask(ctx, expr)
	return len(v) > 0, err
}

// kubeletLog is the log of upstream's kubelet at V4, of some seconds in which five pods start.
const kubeletLog = "../../inspect/attach/kubeletlog/testdata/v4.log.gz"

var klogTime = regexp.MustCompile(`(?m)^([IWEF])(\d{4} \d\d:\d\d:\d\d\.\d{6})`)

// startAttach starts attach beside a process with the name of the kubelet, whose log is the recorded one, as if it was written now.
func startAttach(ctx context.Context, bin, dir, collector string) (*program, string, error) {
	at, err := freePort(ctx)
	if err != nil {
		return nil, "", err
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return nil, "", err
	}
	named, log := filepath.Join(dir, "kubelet"), filepath.Join(dir, "kubelet.log")
	if err := errors.Join(copyFile(named, sleep), os.WriteFile(log, nil, 0o600)); err != nil {
		return nil, "", err
	}
	kubelet := exec.CommandContext(ctx, named, "600")
	if err := kubelet.Start(); err != nil {
		return nil, "", err
	}
	cleanups = append(cleanups, func() {
		_ = kubelet.Process.Kill() //nolint:errcheck // it has ended, or ends now
		_ = kubelet.Wait()         //nolint:errcheck // it was killed
	})
	p, err := start(ctx, bin, "attach", "--no-tui", "--pid", strconv.Itoa(kubelet.Process.Pid), "--kubelet-log", log, "--control-socket", "none",
		"--metrics-address", at, "--otlp-endpoint", collector, "--sampling", "1")
	if err != nil {
		return nil, "", err
	}
	// What ended before attach began is not counted.
	if err := until(ctx, "attach follows the log", func() (bool, error) { return strings.Contains(p.said(), "attached to the kubelet"), nil }); err != nil {
		return nil, "", err
	}
	go replay(ctx, log) //nolint:errcheck // the wait for the starts ends with what attach said
	return p, at, nil
}

// replay appends the beginning of the recorded log to a file, each entry at its time.
func replay(ctx context.Context, to string) error {
	zipped, err := os.ReadFile(kubeletLog)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(z, 64<<20))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var first time.Time
	began := time.Now()
	for line := range bytes.Lines(text) {
		if m := klogTime.FindSubmatch(line); m != nil {
			at, err := time.ParseInLocation("20060102 15:04:05.000000", strconv.Itoa(began.Year())+string(m[2]), time.Local)
			if err != nil {
				return err
			}
			if first.IsZero() {
				first = at
			}
			since := at.Sub(first)
			if since > 12*time.Second || ctx.Err() != nil {
				return ctx.Err()
			}
			time.Sleep(time.Until(began.Add(since)))
			line = append([]byte(string(m[1])+began.Add(since).Format("0102 15:04:05.000000")), line[len(m[0]):]...)
		}
		if _, err := f.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o700)
}
