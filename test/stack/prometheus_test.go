package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// maxAnswer is how long an answer may be, in bytes.
const maxAnswer = 16 << 20

func get(ctx context.Context, from string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.500s", from, resp.Status, text)
	}
	return text, err
}

// ask asks Prometheus' API, and returns the error as a text.
func (b *bench) ask(t *testing.T, path string, values url.Values, into any) string {
	t.Helper()
	text, err := get(t.Context(), "http://"+b.prometheus+"/api/v1/"+path+"?"+values.Encode())
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// judge starts pods, and checks their spans in the Collector and in Jaeger, and what Prometheus has of a job.
func (b *bench) judge(t *testing.T, job, name string, n int) {
	t.Helper()
	pods := b.start(t, name, n)
	got := b.arrive(t, pods)
	t.Log("\n" + b.drawn(t, got.text, got.pods[pods[0]], pods[0]))
	b.inJaeger(t, got, pods)
	b.up(t, job)
	for _, expr := range []string{
		fmt.Sprintf(`up{job=%q,node="kubeloupe-lab",cluster="example"} == 1`, job),
		fmt.Sprintf(`sum(kubeloupe_pod_starts_total{job=%q,node="kubeloupe-lab",cluster="example",outcome="ready"}) >= %d`, job, n),
		fmt.Sprintf(`sum(histogram_count(kubeloupe_pod_start_seconds{job=%q,node="kubeloupe-lab"})) >= %d`, job, n),
		fmt.Sprintf(`sum(histogram_count(kubeloupe_pod_start_phase_seconds{job=%q,phase="sandbox"})) >= %d`, job, n),
		fmt.Sprintf(`sum(kubeloupe_exported_spans_total{job=%q,result="sent"}) >= %d`, job, n),
	} {
		eventually(t, expr, func() string {
			var r struct{ Data struct{ Result []json.RawMessage } }
			if wrong := b.ask(t, "query", url.Values{"query": {expr}}, &r); wrong != "" || len(r.Data.Result) > 0 {
				return wrong
			}
			return "it is not so"
		})
	}
	b.rules(t)
	b.exemplars(t, job, got)
}

// up waits until Prometheus scrapes a target of a job.
func (b *bench) up(t *testing.T, job string) {
	t.Helper()
	eventually(t, "targets of "+job, func() string {
		var r struct {
			Data struct {
				ActiveTargets []struct{ ScrapePool, ScrapeURL, Health, LastError string }
			}
		}
		if wrong := b.ask(t, "targets", url.Values{"state": {"active"}}, &r); wrong != "" {
			return wrong
		}
		for _, a := range r.Data.ActiveTargets {
			if a.ScrapePool == job && a.Health == "up" {
				t.Logf("Prometheus scrapes %s for %s", a.ScrapeURL, job)
				return ""
			}
		}
		return fmt.Sprintf("none is up among %+v", r.Data.ActiveTargets)
	})
}

// rules waits until Prometheus has computed each of our alerts.
func (b *bench) rules(t *testing.T) {
	t.Helper()
	n := 0
	eventually(t, "rules", func() string {
		var r struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Type, State, Health, LastError string }
				}
			}
		}
		if wrong := b.ask(t, "rules", nil, &r); wrong != "" {
			return wrong
		}
		n = 0
		for _, g := range r.Data.Groups {
			for _, rule := range g.Rules {
				if rule.Health != "ok" {
					return fmt.Sprintf("%s is %s: %s", rule.Name, rule.Health, rule.LastError)
				}
				if rule.State == "firing" {
					t.Errorf("the alert %s fires", rule.Name)
				}
				n++
			}
		}
		if n == 0 {
			return "there are none"
		}
		return ""
	})
	t.Logf("Prometheus computes %d rules", n)
}

// exemplars checks that each exemplar of a job is the trace of a start that the Collector has, the last of which it reads once more.
func (b *bench) exemplars(t *testing.T, job string, got *received) {
	t.Helper()
	var r struct {
		Data []struct {
			Exemplars []struct{ Labels map[string]string }
		}
	}
	now := time.Now()
	ids := map[string]bool{}
	eventually(t, "exemplars", func() string {
		wrong := b.ask(t, "query_exemplars", url.Values{
			"query": {fmt.Sprintf(`kubeloupe_pod_start_seconds{job=%q}`, job)},
			"start": {strconv.FormatInt(now.Add(-time.Hour).Unix(), 10)}, "end": {strconv.FormatInt(time.Now().Unix()+1, 10)},
		}, &r)
		for _, d := range r.Data {
			for _, e := range d.Exemplars {
				ids[e.Labels["trace_id"]] = true
			}
		}
		if wrong == "" && len(ids) == 0 {
			wrong = "there are none"
		}
		return wrong
	})
	again, err := b.received(t)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for pod, id := range again.pods {
		of[id] = pod
	}
	var led []string
	for id := range ids {
		pod := of[id]
		if pod == "" {
			t.Errorf("%s: the exemplar %s is no start in the Collector's file", job, id)
			continue
		}
		led = append(led, pod)
		if b.jaeger != "" {
			b.fetch(t, id, again.traces[id])
		}
	}
	t.Logf("%s: %d exemplars in Prometheus lead to the starts of %v", job, len(ids), led)
}

// said fails if a program of the stack has printed an error.
func (b *bench) said(t *testing.T) {
	t.Helper()
	for _, name := range []string{"collector", "prometheus", "jaeger"} {
		if name == "jaeger" && b.jaeger == "" {
			continue
		}
		out := b.kubectl(t, "logs", "-n", namespace, "deploy/"+name, "-c", name)
		for line := range strings.Lines(out) {
			if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") || strings.Contains(line, "\terror\t") || strings.Contains(line, "\twarn\t") {
				t.Logf("%s: %s", name, line)
			}
		}
	}
}
