package promcheck

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const dashboardFile = "../../deploy/grafana/pod-starts.json"

// TestDashboard checks that each query of the dashboard parses, selects what is served and, over what was scraped, returns something: with
// native histograms and with classic ones.
func TestDashboard(t *testing.T) {
	d, err := readDashboard(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	all, err := queries(d)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("%d panels with queries", len(all))
	}
	o := watched(t)
	exemplars := 0
	for title, panel := range all {
		if len(panel) == 0 {
			t.Errorf("%s: no query", title)
		}
		for _, q := range panel {
			of := title + " " + *q.RefId
			if q.Datasource == nil || q.Datasource.Uid == nil || *q.Datasource.Uid != "${datasource}" {
				t.Errorf("%s: another data source", of)
			}
			if q.Exemplar != nil && *q.Exemplar {
				exemplars++
			}
			expr := variables.Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: a variable is not known: %s", of, expr)
				continue
			}
			for _, name := range []string{"$cluster", "$node"} {
				if !strings.Contains(q.Expr, name) {
					t.Errorf("%s: it does not select by %s", of, name)
				}
			}
			checkExpr(t, of, expr)
			for format, p := range map[string]*prom{"native": o.native, "classic": o.text} {
				v := p.vector(t, expr)
				if len(v) == 0 && !strings.Contains(expr, "> 0") && !strings.Contains(expr, "== 0") {
					t.Errorf("%s: nothing over %s histograms: %s", of, format, expr)
				}
			}
		}
	}
	if exemplars < 4 {
		t.Errorf("%d queries with exemplars", exemplars)
	}
	names := map[string]string{}
	for _, v := range d.Templating.List {
		query := ""
		if v.Query != nil && v.Query.String != nil {
			query = *v.Query.String
		} else if v.Query != nil {
			query, _ = v.Query.Map["query"].(string)
		}
		names[v.Name] = query
	}
	if names["datasource"] != "prometheus" || names["cluster"] != "label_values(kubeloupe_pod_starts_total, cluster)" ||
		names["node"] != `label_values(kubeloupe_pod_starts_total{cluster=~"$cluster"}, node)` {
		t.Errorf("variables: %q", names)
	}
}

// TestDashboardStrict spoils the dashboard: what Grafana's types do not have is seen.
func TestDashboardStrict(t *testing.T) {
	raw, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeDashboard(raw); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"of the dashboard": {`"schemaVersion"`, `"schemaVersions"`},
		"of a panel":       {`"gridPos"`, `"gridPositions"`},
		"of a query":       {`"legendFormat"`, `"legendText"`},
		"of options":       {`"tooltip"`, `"tooltips"`},
		"type":             {`"refId": "A"`, `"refId": 1`},
	} {
		spoilt := bytes.Replace(raw, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(spoilt, raw) {
			t.Fatalf("%s: %s is not there", name, change[0])
		}
		if _, err := decodeDashboard(spoilt); err == nil {
			t.Errorf("%s: %s is accepted", name, change[1])
		}
	}
}
