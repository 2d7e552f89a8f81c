package main

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/inspect/ship"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/metrics"
)

// processStart is the metric that is on each page.
const processStart = "process_start_time_seconds"

// metricsSink folds the stream into Prometheus metrics while it is asked to run.
type metricsSink struct {
	sink *metrics.Sink
	// handler shows all, probes what is about probes only.
	handler, probes http.Handler
	// agent has the metrics that are read on request; nil before it is built, and without one.
	agent atomic.Pointer[agent.Agent]
	from  atomic.Pointer[trace.Cursor] // what run reads; nil before it
}

func newMetrics(reg *prometheus.Registry) (*metricsSink, error) {
	sink, err := metrics.New(reg)
	if err != nil {
		return nil, err
	}
	sink.Expect(ship.Outcomes()...)
	probes := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := reg.Gather()
		return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
			return !strings.HasPrefix(f.GetName(), "prober_") && f.GetName() != processStart
		}), err
	})
	m := &metricsSink{sink: sink}
	m.probes = m.fresh(promhttp.HandlerFor(probes, promhttp.HandlerOpts{}))
	all := prometheus.Gatherers{reg, prometheus.GathererFunc(m.measured)}
	m.handler = m.fresh(promhttp.HandlerFor(all, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	return m, nil
}

// measured returns the metrics that are read on request.
func (m *metricsSink) measured() ([]*dto.MetricFamily, error) {
	if a := m.agent.Load(); a != nil {
		return a.Measured(context.Background()), nil
	}
	return nil, nil
}

// bootTime returns when the machine booted; the zero time if that is not known.
func bootTime() time.Time {
	text, err := wholefile.Read("/proc/uptime", 1<<10)
	if err != nil {
		return time.Time{}
	}
	up, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(up, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(seconds * float64(time.Second)))
}

// settleTime is how long a request for metrics waits for what was published before it.
const settleTime = time.Second

// fresh has h answer when everything that was published is folded, or after settleTime with what is.
func (m *metricsSink) fresh(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cur := m.from.Load(); cur != nil {
			ctx, cancel := context.WithTimeout(r.Context(), settleTime)
			defer cancel()
			_ = cur.Settle(ctx) // a machine that is very busy, or an agent that ends: what is folded is better than nothing
		}
		h.ServeHTTP(w, r)
	})
}

// run folds until ctx ends.
func (m *metricsSink) run(ctx context.Context, bus *trace.Bus) {
	cur := bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	cur.Batch() // it is up to date when somebody asks: fresh
	m.from.Store(cur)
	buf := make([]trace.Record, 0, 256)
	for {
		recs, lost, err := cur.Next(ctx, buf)
		if err != nil {
			return
		}
		m.sink.Lost(lost)
		for i := range recs {
			m.sink.Apply(&recs[i])
		}
	}
}

// explained takes in a start, with its spans as exemplars if they are sent.
func (m *metricsSink) explained(s ship.Start) {
	st := metrics.Start{Outcome: s.Outcome, Took: s.Took, Phases: parts(s.Phases), Waits: parts(s.Waits)}
	for i := range s.Causes {
		st.Causes = append(st.Causes, metrics.Part{Name: s.Causes[i].ID, Dur: s.Causes[i].Cost})
	}
	if s.Sent {
		st.Trace = s.Trace
	}
	m.sink.Start(st)
}

func parts(in []ship.Part) (out []metrics.Part) {
	for _, p := range in {
		out = append(out, metrics.Part(p))
	}
	return out
}
