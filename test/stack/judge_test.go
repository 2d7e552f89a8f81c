package stack

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// judge starts pods, and checks their spans in the Collector and in Jaeger, and what Prometheus has of a job.
func (b *bench) judge(t *testing.T, job, name string) {
	t.Helper()
	pods := b.start(t, name)
	got := b.arrive(t, pods)
	t.Log("\n" + b.drawn(t, got.text, got.pods[pods[0]], pods[0]))
	b.inJaeger(t, got, pods)
	b.up(t, job)
	of := fmt.Sprintf(`job=%q,node=%q,cluster="example"`, job, lab.NodeName)
	for _, expr := range []string{
		fmt.Sprintf(`up{%s} == 1`, of),
		// One that attach sees is ready later.
		fmt.Sprintf(`sum(kubeloupe_pod_starts_total{%s,outcome=~"ready|started"}) >= %d`, of, starts),
		fmt.Sprintf(`sum(histogram_count(kubeloupe_pod_start_seconds{%s})) >= %d`, of, starts),
		fmt.Sprintf(`sum(histogram_count(kubeloupe_pod_start_phase_seconds{%s,phase="sandbox"})) >= %d`, of, starts),
		fmt.Sprintf(`sum(kubeloupe_exported_spans_total{%s,result="sent"}) >= %d`, of, starts),
	} {
		eventually(t, expr, func() string {
			var r struct {
				Data struct{ Result []json.RawMessage }
			}
			if wrong := b.ask(t, "query", url.Values{"query": {expr}}, &r); wrong != "" || len(r.Data.Result) > 0 {
				return wrong
			}
			return "it is not so"
		})
		t.Log(expr)
	}
	b.rules(t)
	b.exemplars(t, job)
	b.kubectl(t, append([]string{"delete", "pod", "--now"}, pods...)...)
}

// exemplars checks that each exemplar of a job is the trace of a start that the Collector has, and Jaeger if it is there.
func (b *bench) exemplars(t *testing.T, job string) {
	t.Helper()
	began, ids := time.Now().Add(-time.Hour).Unix(), map[string]bool{}
	eventually(t, "exemplars", func() string {
		var r struct {
			Data []struct {
				Exemplars []struct{ Labels map[string]string }
			}
		}
		wrong := b.ask(t, "query_exemplars", url.Values{
			"query": {fmt.Sprintf(`kubeloupe_pod_start_seconds{job=%q}`, job)},
			"start": {strconv.FormatInt(began, 10)}, "end": {strconv.FormatInt(time.Now().Unix()+1, 10)},
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
	got, err := b.received(t)
	if err != nil {
		t.Fatal(err)
	}
	var led []string
	for pod, id := range got.pods {
		if !ids[id] {
			continue
		}
		delete(ids, id)
		led = append(led, pod+" "+outcome(got.traces[id]))
		if b.jaeger != "" {
			b.fetch(t, id, got.traces[id])
		}
	}
	slices.Sort(led)
	t.Logf("%s: exemplars in Prometheus lead to the starts of %v", job, led)
	if len(ids) > 0 || len(led) == 0 {
		t.Errorf("%s: the exemplars %v are no starts in the Collector's file", job, slices.Collect(maps.Keys(ids)))
	}
}

// outcome is that of a start.
func outcome(spans []span) string {
	for i := range spans {
		if spans[i].Parent == "" {
			return spans[i].Attributes.text("kubeloupe.start.outcome")
		}
	}
	return ""
}
