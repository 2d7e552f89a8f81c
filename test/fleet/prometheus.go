package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/test/collector"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// prometheus is a Prometheus that scrapes both nodes, with our alerts.
type prometheus struct {
	address string
	process *process
}

// The jobs and labels are those of deploy/stack/config/prometheus.yaml, whose targets are found in a cluster.
const prometheusConfig = `
global: {scrape_interval: 2s, evaluation_interval: 2s}
rule_files: [%q]
scrape_configs:
  - job_name: kubeloupe
    scrape_native_histograms: true
    static_configs: [{targets: [%q], labels: {node: own, cluster: fleet}}]
  - job_name: kubeloupe-attach
    scrape_native_histograms: true
    static_configs: [{targets: [%q], labels: {node: up, cluster: fleet}}]
`

// jobs are those of the nodes.
var jobs = []string{"kubeloupe", "kubeloupe-attach"}

func newPrometheus(ctx context.Context, f *fleet) (*prometheus, error) {
	bin, err := lab.BuildPrometheus(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	rules, err := filepath.Abs(filepath.Join(f.root, "deploy/prometheus/kubeloupe.rules.yaml"))
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(f.dir, "prometheus")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	p := &prometheus{}
	if p.address, err = collector.FreeAddress(ctx); err != nil {
		return nil, err
	}
	var targets []any
	for _, n := range f.nodes {
		u, err := url.Parse(n.metrics())
		if err != nil {
			return nil, err
		}
		targets = append(targets, u.Host)
	}
	config := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, prometheusConfig, append([]any{rules}, targets...)...), 0o600); err != nil {
		return nil, err
	}
	p.process, err = spawn(filepath.Join(dir, "out"), nil, bin, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+p.address, "--enable-feature=exemplar-storage")
	if err != nil {
		return nil, err
	}
	return p, until(ctx, "first scrapes of Prometheus", func() (bool, error) {
		is, err := p.is(ctx, fmt.Sprintf("sum(up) == %d", len(f.nodes)))
		return is && err == nil, ctx.Err() // it may not listen yet
	})
}

// get asks the API.
func (p *prometheus) get(ctx context.Context, path string, values url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/api/v1/"+path+"?"+values.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask Prometheus for %s: %s", path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// is reports whether a condition is true: whether its expression has a value.
func (p *prometheus) is(ctx context.Context, expr string) (bool, error) {
	var r struct {
		Data struct{ Result []json.RawMessage }
	}
	err := p.get(ctx, "query", url.Values{"query": {expr}}, &r)
	return len(r.Data.Result) > 0, err
}

// exemplars are the traces of a job's starts.
func (p *prometheus) exemplars(ctx context.Context, job string) (traces []string, err error) {
	var r struct {
		Data []struct {
			Exemplars []struct{ Labels map[string]string }
		}
	}
	now := time.Now()
	err = p.get(ctx, "query_exemplars", url.Values{
		"query": {fmt.Sprintf(`kubeloupe_pod_start_seconds{job=%q}`, job)},
		"start": {strconv.FormatInt(now.Add(-24*time.Hour).Unix(), 10)}, "end": {strconv.FormatInt(now.Unix()+1, 10)},
	}, &r)
	for _, d := range r.Data {
		for _, e := range d.Exemplars {
			traces = append(traces, e.Labels["trace_id"])
		}
	}
	return traces, err
}

// judge checks that Prometheus has counted each start and each lost span, that its exemplars lead to traces, and that the alert about lost spans is
// there if some were lost, and only then.
func (p *prometheus) judge(ctx context.Context, f *fleet, got *received) error {
	var errs []error
	for i, n := range f.nodes {
		job, refused := jobs[i], f.receiver.refuser.of(n.name())
		lost := "== 0"
		if refused > 0 {
			lost = ">= 1"
		}
		for _, expr := range []string{
			fmt.Sprintf(`sum(kubeloupe_pod_starts_total{job=%q}) >= %d`, job, len(f.tallies[i].pods)), // there are starts of others in a cluster
			fmt.Sprintf(`sum(kubeloupe_exported_spans_total{job=%q,result="sent"}) >= %d`, job, got.spans[n.name()]-got.late(n.name(), time.Now().Add(-lag))),
			fmt.Sprintf(`sum(kubeloupe_exported_spans_total{job=%q,result=~"refused|dropped"}) == %d`, job, refused),
			fmt.Sprintf(`(count(ALERTS{alertname="KubeloupeSpansLost",job=%q}) or vector(0)) %s`, job, lost),
			`(count(ALERTS{alertname=~"KubeloupeDown|KubeloupeAbsent|KubeloupeRestarts"}) or vector(0)) == 0`,
		} {
			err := until(ctx, "condition "+expr, func() (bool, error) { return p.is(ctx, expr) })
			if err != nil {
				errs = append(errs, err)
			}
		}
		traces, err := p.exemplars(ctx, job)
		if err != nil {
			return err
		}
		led := 0
		for _, id := range traces {
			if t := got.traces[id]; t != nil && t.root != nil {
				led++
			}
		}
		f.sayf("%s: %d exemplars in Prometheus, %d of them lead to a trace that the Collector has\n", n.name(), len(traces), led)
		if led == 0 || led < len(traces) && refused == 0 {
			errs = append(errs, fmt.Errorf("%s: %d of %d exemplars lead to a trace", n.name(), led, len(traces)))
		}
	}
	return errors.Join(errs...)
}
