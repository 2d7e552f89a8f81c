package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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

// values returns the values of an expression, by a label.
func (p *prometheus) values(ctx context.Context, label, expr string) (map[string]float64, error) {
	var r struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any // when, and what as a text
			}
		}
	}
	if err := p.get(ctx, "query", url.Values{"query": {expr}}, &r); err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, x := range r.Data.Result {
		var v float64
		if _, err := fmt.Sscan(fmt.Sprint(x.Value[1]), &v); err != nil {
			return nil, fmt.Errorf("the value %v of %s: %w", x.Value[1], expr, err)
		}
		out[x.Metric[label]] = v
	}
	return out, nil
}

// is reports whether a condition is true: whether its expression has a value.
func (p *prometheus) is(ctx context.Context, expr string) (bool, error) {
	var r struct {
		Data struct{ Result []json.RawMessage }
	}
	err := p.get(ctx, "query", url.Values{"query": {expr}}, &r)
	return len(r.Data.Result) > 0, err
}
