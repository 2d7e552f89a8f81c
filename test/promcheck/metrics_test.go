package promcheck

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fleetPage is the page that describes the metrics.
const fleetPage = "../../docs/fleet.md"

// TestDocumented asks for each metric of the page's table, in both formats.
func TestDocumented(t *testing.T) {
	o := watched(t)
	names := documented(t)
	if len(names) != 8 {
		t.Errorf("the page lists %q", names)
	}
	for _, name := range names {
		for _, job := range []string{"kubeloupe", "kubeloupe-attach"} {
			if job == "kubeloupe-attach" && strings.Contains(name, "_cause") {
				continue // the log need not have one
			}
			if v := o.native.vector(t, name+`{job="`+job+`"}`); len(v) == 0 {
				t.Errorf("%s: no %s in protobuf", job, name)
			}
			text := name
			if strings.HasSuffix(name, "_seconds") {
				text += "_bucket"
			}
			if v := o.text.vector(t, text+`{job="`+job+`"}`); len(v) == 0 {
				t.Errorf("%s: no %s in OpenMetrics", job, text)
			}
		}
	}
}

// documented are the metrics of the page's table.
func documented(t *testing.T) (names []string) {
	t.Helper()
	for line := range strings.Lines(read(t, fleetPage)) {
		if strings.HasPrefix(line, "| `kubeloupe_") {
			names = append(names, regexp.MustCompile("kubeloupe_[a-z_]+").FindAllString(line, -1)...)
		}
	}
	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestStarts checks that the starts of the manifests are counted, as native histograms and as classic ones.
func TestStarts(t *testing.T) {
	o := watched(t)
	for outcome, want := range map[string]float64{"ready": 2, "failed": 2} {
		of := `{job="kubeloupe",node="n1",cluster="example",outcome="` + outcome + `"}`
		v := o.native.vector(t, "kubeloupe_pod_start_seconds"+of)
		if len(v) != 1 || v[0].H == nil || v[0].H.Count != want || v[0].H.UsesCustomBuckets() || len(v[0].H.PositiveBuckets) == 0 {
			t.Errorf("%s: native: %v", outcome, v)
		}
		if v := o.native.vector(t, "kubeloupe_pod_start_seconds_bucket"+of); len(v) > 0 {
			t.Errorf("%s: classic beside native: %v", outcome, v)
		}
		for _, expr := range []string{"kubeloupe_pod_starts_total", "kubeloupe_pod_start_seconds_count"} {
			if v := o.text.vector(t, expr+of); len(v) != 1 || v[0].F != want {
				t.Errorf("%s: %s: %v", outcome, expr, v)
			}
		}
	}
	// Both tell the same median: the one by buckets of 10 %, the other by seven.
	var median [2]float64
	for i, q := range []struct {
		p    *prom
		expr string
	}{
		{o.native, `histogram_quantile(0.5, kubeloupe_pod_start_seconds{job="kubeloupe",outcome="ready"})`},
		{o.text, `histogram_quantile(0.5, kubeloupe_pod_start_seconds_bucket{job="kubeloupe",outcome="ready"})`},
	} {
		v := q.p.vector(t, q.expr)
		if len(v) != 1 {
			t.Fatalf("%s: %v", q.expr, v)
		}
		median[i] = v[0].F
	}
	mean := o.text.vector(t, `kubeloupe_pod_start_seconds_sum{job="kubeloupe",outcome="ready"} / 2`)[0].F
	if median[0] < mean/3 || median[0] > mean*3 || median[1] <= 0 {
		t.Errorf("medians %v, mean %v", median, mean)
	}
	for _, cause := range []string{"KL01", "KL05", "KL35"} {
		if v := o.native.vector(t, `kubeloupe_pod_start_causes_total{job="kubeloupe",cause="`+cause+`"}`); len(v) != 1 || v[0].F < 1 {
			t.Errorf("%s: %v", cause, v)
		}
	}
}

// TestExemplars checks that exemplars lead to traces of starts that the collector has.
func TestExemplars(t *testing.T) {
	o := watched(t)
	for _, of := range []struct {
		p      *prom
		metric string
	}{
		{o.native, "kubeloupe_pod_start_seconds"},
		{o.native, "kubeloupe_pod_start_phase_seconds"},
		{o.native, "kubeloupe_pod_starts_total"},
		{o.text, "kubeloupe_pod_start_seconds_bucket"},
		{o.text, "kubeloupe_pod_start_cause_seconds_bucket"},
	} {
		ids := of.p.exemplars(t, of.metric)
		if len(ids) == 0 {
			t.Errorf("%s has no exemplar", of.metric)
		}
		for _, id := range ids {
			if o.starts[id] == "" {
				t.Errorf("%s: the collector has no start in the trace %q", of.metric, id)
			}
		}
	}
	pods := map[string]bool{}
	for _, pod := range o.starts {
		pods[pod] = true
	}
	if !pods["free-n1"] || !pods["broken-n1"] || !pods["web"] {
		t.Errorf("the collector has %v", o.starts)
	}
}

// TestCardinality counts series, exactly, by the values of labels.
func TestCardinality(t *testing.T) {
	o := watched(t)
	const all = `__name__=~"kubeloupe_(pod_start|export).*"`
	for _, job := range []string{"kubeloupe", "kubeloupe-attach"} {
		n := func(metric, label string) float64 {
			if v := o.native.vector(t, "count(count by ("+label+") ("+metric+`{job="`+job+`"}))`); len(v) > 0 {
				return v[0].F
			}
			return 0
		}
		counted, outcomes := n("kubeloupe_pod_starts_total", "outcome"), n("kubeloupe_pod_start_seconds", "outcome")
		if counted != 4 {
			t.Errorf("%s: counters of %v outcomes, want 4", job, counted)
		}
		classic, native := series(counted, outcomes, n("kubeloupe_pod_start_phase_seconds", "phase"),
			n("kubeloupe_pod_start_wait_seconds", "kind"), n("kubeloupe_pod_start_causes_total", "cause"), n("kubeloupe_exported_spans_total", "result"))
		for _, c := range []struct {
			p    *prom
			want float64
		}{{o.text, classic}, {o.native, native}} {
			v := c.p.vector(t, `count({`+all+`,job="`+job+`"})`)
			if len(v) != 1 || v[0].F != c.want || c.want < 10 {
				t.Errorf("%s: %v series, want %v", job, v, c.want)
			}
		}
	}
}

// series are how many there are with classic and with native histograms, by the values of labels.
func series(counted, outcomes, phases, waits, causes, results float64) (classic, native float64) {
	return counted + 10*outcomes + 10*phases + 10*waits + 11*causes + results + 1, counted + outcomes + phases + waits + 2*causes + results + 1
}

// TestMostSeries compares what the page says is the most with the values of labels that there are.
func TestMostSeries(t *testing.T) {
	page := read(t, fleetPage)
	phases, waits := values(t, "Verb"), values(t, "WaitKind")
	for _, want := range []string{"`start`: " + strconv.Itoa(phases) + " |", "`queue`: " + strconv.Itoa(waits) + " |"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s has no line with %s", fleetPage, want)
		}
	}
	causes, err := filepath.Glob("../../docs/causes/KL*.md")
	if err != nil {
		t.Fatal(err)
	}
	classic, native := series(4, 4, float64(phases), float64(waits), float64(len(causes)), 3)
	if want := "| all values of all labels | " + strconv.Itoa(int(classic)) + " series | " + strconv.Itoa(int(native)) + " series |"; !strings.Contains(page, want) {
		t.Errorf("%s has no line\n%s", fleetPage, want)
	}
	if want := filepath.Base(causes[len(causes)-1]); !strings.Contains(page, "`KL01` to `"+strings.TrimSuffix(want, ".md")+"`") {
		t.Errorf("%s: the last cause is %s", fleetPage, want)
	}
}

// values is the number of values of a type, by the page of events, which is generated from the types.
func values(t *testing.T, name string) int {
	t.Helper()
	_, section, found := strings.Cut(read(t, "../../docs/events.md"), "\n### "+name+"\n")
	section, _, _ = strings.Cut(section, "\n### ")
	n := strings.Count(section, "\n| `")
	if !found || n == 0 {
		t.Fatalf("docs/events.md has no values of %s", name)
	}
	return n
}

// TestLabels checks that no label tells a pod, a namespace or an image, and that node and cluster come from the scrape configuration.
func TestLabels(t *testing.T) {
	o := watched(t)
	var names []string
	for _, pod := range o.starts {
		names = append(names, pod)
	}
	for name := range manifests {
		names = append(names, name, name+"-n1")
	}
	for _, p := range []*prom{o.native, o.text} {
		q, err := p.db.Querier(0, 1<<62)
		if err != nil {
			t.Fatal(err)
		}
		labels, _, err := q.LabelNames(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		labels = slices.Clone(labels)
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		want := []string{"__name__", "cause", "cluster", "instance", "job", "kind", "le", "node", "operation_type", "outcome", "phase", "result"}
		for _, label := range labels {
			if !slices.Contains(want, label) {
				t.Errorf("label %s: %q", label, p.values(t, label))
			}
			for _, v := range p.values(t, label) {
				if slices.Contains(names, v) || strings.Contains(v, "shop") || strings.Contains(v, "lab/") {
					t.Errorf("label %s tells of a pod: %s", label, v)
				}
			}
		}
		if v := p.values(t, "node"); !slices.Equal(v, []string{"n1", "n2"}) {
			t.Errorf("node: %q", v)
		}
		if v := p.vector(t, `{__name__=~"kubeloupe_.*",cluster!="example"}`); len(v) > 0 {
			t.Errorf("without a cluster: %v", v)
		}
		for _, name := range p.values(t, "__name__") {
			if !regexp.MustCompile(`^(kubeloupe_.*|kubelet_runtime_operations_(errors_)?total|process_start_time_seconds|up|scrape_.*)$`).MatchString(name) {
				t.Errorf("%s is kept", name)
			}
		}
	}
}
