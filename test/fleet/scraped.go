package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

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

// rules checks that Prometheus has our alerts, and can compute each.
func (p *prometheus) rules(ctx context.Context, f *fleet) error {
	var r struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Type, Health, LastError string }
			}
		}
	}
	if err := p.get(ctx, "rules", nil, &r); err != nil {
		return err
	}
	n := 0
	for _, g := range r.Data.Groups {
		for _, rule := range g.Rules {
			if rule.Health != "ok" {
				return fmt.Errorf("the rule %s is %s: %s", rule.Name, rule.Health, rule.LastError)
			}
			if rule.Type == "alerting" {
				n++
			}
		}
	}
	if n == 0 {
		return errors.New("no alerts in Prometheus")
	}
	f.sayf("Prometheus computes %d alerts\n", n)
	return nil
}

// phases checks that Prometheus has each phase of each start, and tells of them.
func (p *prometheus) phases(ctx context.Context, f *fleet, i int) error {
	const of = `sum by (phase) (kubeloupe_pod_start_phase_seconds{job=%q})`
	var counts map[string]float64
	err := until(ctx, "phases of "+jobs[i], func() (_ bool, err error) {
		counts, err = p.values(ctx, "phase", fmt.Sprintf("histogram_count("+of+")", jobs[i]))
		for _, phase := range []string{"sandbox", "create", "start"} {
			if counts[phase] < float64(len(f.tallies[i].pods)) {
				return false, err
			}
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("%w: %v", err, counts)
	}
	took, err := p.values(ctx, "phase", fmt.Sprintf("1000 * histogram_quantile(0.5, "+of+")", jobs[i]))
	if err != nil {
		return err
	}
	var parts []string
	for _, phase := range slices.Sorted(maps.Keys(took)) {
		parts = append(parts, fmt.Sprintf("%s %.0f ms (%.0f)", phase, took[phase], counts[phase]))
	}
	f.sayf("%s: phases in Prometheus, p50 and how many: %s\n", f.nodes[i].name(), strings.Join(parts, ", "))
	return nil
}

// judge checks that Prometheus has counted each start, its phases and each lost span, that its exemplars lead to traces, and that the alert about
// lost spans was there if some were lost, and only then.
func (p *prometheus) judge(ctx context.Context, f *fleet, got *received) error {
	errs := []error{p.rules(ctx, f)}
	for i, n := range f.nodes {
		errs = append(errs, p.phases(ctx, f, i))
		job, refused := jobs[i], f.receiver.refuser.of(n.name())
		lost := "== 0"
		if refused > 0 {
			lost = ">= 1"
		}
		for _, expr := range []string{
			fmt.Sprintf(`sum(kubeloupe_pod_starts_total{job=%q}) >= %d`, job, len(f.tallies[i].pods)), // there are starts of others in a cluster
			fmt.Sprintf(`sum(kubeloupe_exported_spans_total{job=%q,result="sent"}) >= %d`, job, got.spans[n.name()]-got.late(n.name(), time.Now().Add(-lag))),
			fmt.Sprintf(`sum(kubeloupe_exported_spans_total{job=%q,result=~"refused|dropped"}) == %d`, job, refused),
			fmt.Sprintf(`(count(last_over_time(ALERTS{alertname="KubeloupeSpansLost",job=%q}[1d])) or vector(0)) %s`, job, lost),
			`(count(last_over_time(ALERTS{alertname=~"KubeloupeDown|KubeloupeAbsent|KubeloupeRestarts",alertstate="firing"}[1d])) or vector(0)) == 0`,
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
