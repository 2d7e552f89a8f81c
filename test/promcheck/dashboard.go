package promcheck

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// readDashboard decodes a dashboard: a field that Grafana's types do not have is an error, also in the options of panels and in queries.
func readDashboard(file string) (*dashboard.Dashboard, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return decodeDashboard(raw)
}

func decodeDashboard(raw []byte) (*dashboard.Dashboard, error) {
	r := cog.NewRuntime() // the one there is
	r.RegisterPanelcfgVariant(stat.VariantConfig())
	r.RegisterPanelcfgVariant(table.VariantConfig())
	r.RegisterPanelcfgVariant(timeseries.VariantConfig())
	r.RegisterDataqueryVariant(prometheus.VariantConfig())
	if !json.Valid(raw) {
		return nil, fmt.Errorf("the dashboard is not JSON")
	}
	d := dashboard.NewDashboard()
	if err := told(d.UnmarshalJSONStrict(raw)); err != nil {
		return nil, err
	}
	// The strict decoder checks panels and keeps none.
	d = dashboard.NewDashboard()
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, err
	}
	return d, told(d.Validate())
}

// told returns an error that says something: without one, these types return an empty list of errors.
func told(err error) error {
	if err == nil || err.Error() == "" {
		return nil
	}
	return err
}

// queries returns the queries of a dashboard's panels, by the panels' titles.
func queries(d *dashboard.Dashboard) (map[string][]*prometheus.Dataquery, error) {
	out := map[string][]*prometheus.Dataquery{}
	for _, p := range d.Panels {
		if p.Panel == nil {
			continue // a row
		}
		title := *p.Panel.Title
		if _, twice := out[title]; twice {
			return nil, fmt.Errorf("two panels %q", title)
		}
		for _, t := range p.Panel.Targets {
			q, ok := t.(*prometheus.Dataquery)
			if !ok {
				return nil, fmt.Errorf("panel %q: a query of another kind: %T", title, t)
			}
			out[title] = append(out[title], q)
		}
	}
	return out, nil
}
