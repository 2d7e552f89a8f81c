package promcheck

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
)

// prom is a Prometheus of libraries: a scraper, a storage and a query engine.
type prom struct {
	db     *tsdb.DB
	engine *promql.Engine
	at     time.Time // when it scraped last; zero: it scrapes
}

// newProm creates a storage in a temporary directory; close removes it.
func newProm() (_ *prom, closeIt func(), err error) {
	dir, err := os.MkdirTemp("", "promcheck-")
	if err != nil {
		return nil, nil, err
	}
	opt := tsdb.DefaultOptions()
	opt.EnableExemplarStorage, opt.MaxExemplars = true, 10_000
	db, err := tsdb.Open(dir, promslog.NewNopLogger(), nil, opt, nil)
	if err != nil {
		return nil, nil, err
	}
	p := &prom{db: db, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		Parser: parser.NewParser(parser.Options{}),
	})}
	return p, func() { _ = db.Close(); _ = os.RemoveAll(dir) }, nil //nolint:errcheck // a test's
}

// stackConfig is the configuration of the example stack's Prometheus.
const stackConfig = "../../deploy/stack/config/prometheus.yaml"

// scrape scrapes targets, by their jobs of the stack's configuration, until ctx ends. Of that configuration, how targets are found and
// authenticated is replaced; all else is as there, but for text, which takes OpenMetrics without native histograms.
func (p *prom) scrape(ctx context.Context, targets map[string]model.LabelSet, text bool) error {
	cfg, err := config.LoadFile(stackConfig, false, promslog.NewNopLogger())
	if err != nil {
		return err
	}
	cfg.ScrapeConfigs = slices.DeleteFunc(cfg.ScrapeConfigs, func(s *config.ScrapeConfig) bool { return targets[s.JobName] == nil })
	for _, s := range cfg.ScrapeConfigs {
		s.Scheme, s.HTTPClientConfig, s.ServiceDiscoveryConfigs = "http", promconfig.DefaultHTTPClientConfig, nil
		s.ScrapeInterval, s.ScrapeTimeout = model.Duration(2*time.Second), model.Duration(2*time.Second)
		if text {
			off := false
			s.ScrapeNativeHistograms, s.ScrapeProtocols = &off, []config.ScrapeProtocol{config.OpenMetricsText1_0_0}
		}
	}
	m, err := scrape.NewManager(&scrape.Options{DiscoveryReloadOnStartup: true}, nil, nil, nil, p.db, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	if err := m.ApplyConfig(cfg); err != nil {
		return err
	}
	sets := make(chan map[string][]*targetgroup.Group, 1)
	all := map[string][]*targetgroup.Group{}
	for job, t := range targets {
		all[job] = []*targetgroup.Group{{Source: job, Targets: []model.LabelSet{t}}}
	}
	sets <- all
	ended := make(chan error, 1)
	go func() { ended <- m.Run(sets) }()
	<-ctx.Done()
	m.Stop()
	p.at = time.Now()
	return <-ended
}

// ask evaluates an expression now, or when it scraped last.
func (p *prom) ask(ctx context.Context, expr string) (promql.Vector, error) {
	at := p.at
	if at.IsZero() {
		at = time.Now()
	}
	q, err := p.engine.NewInstantQuery(ctx, p.db, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := q.Exec(ctx)
	v, err := r.Vector()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	return slices.Clone(v), nil
}

func (p *prom) vector(t *testing.T, expr string) promql.Vector {
	t.Helper()
	v, err := p.ask(t.Context(), expr)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// values returns the values that a label has.
func (p *prom) values(t *testing.T, label string) []string {
	t.Helper()
	q, err := p.db.Querier(0, time.Now().UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	v, _, err := q.LabelValues(t.Context(), label, nil)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(v)
}

// exemplars returns the trace ids of the exemplars of a metric.
func (p *prom) exemplars(t *testing.T, metric string) (ids []string) {
	t.Helper()
	q, err := p.db.ExemplarQuerier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := q.Select(0, time.Now().UnixMilli(), []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, metric)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		for _, e := range r.Exemplars {
			ids = append(ids, e.Labels.Get("trace_id"))
		}
	}
	return ids
}
