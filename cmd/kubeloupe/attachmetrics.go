package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/net/netutil"
)

// Limits of the port for metrics: anybody may connect to it.
const (
	metricsConns   = 16
	metricsHeaders = 16 << 10
	metricsTime    = 10 * time.Second // for a request, and for its answer
)

// metricsPort serves the metrics of attach: what it knows of starts, and of the export of spans. The kubelet has its own for the rest.
type metricsPort struct {
	sink   *metricsSink
	listen net.Listener
	server http.Server
}

// newMetricsPort listens on an address.
func newMetricsPort(ctx context.Context, address string) (*metricsPort, error) {
	reg := prometheus.NewRegistry()
	sink, err := newMetrics(reg)
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, userError{fmt.Errorf("--metrics-address: %w", err)}
	}
	ours := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := reg.Gather()
		return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool { return !strings.HasPrefix(f.GetName(), "kubeloupe_") }), err
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", sink.fresh(promhttp.HandlerFor(ours, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 2})))
	return &metricsPort{sink: sink, listen: netutil.LimitListener(l, metricsConns), server: http.Server{
		Handler: mux, MaxHeaderBytes: metricsHeaders, ReadTimeout: metricsTime, WriteTimeout: metricsTime, IdleTimeout: 3 * metricsTime,
	}}, nil
}

// run serves until ctx ends.
func (p *metricsPort) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = p.server.Close() })()
	if err := p.server.Serve(p.listen); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// close stops listening.
func (p *metricsPort) close() {
	if p != nil {
		_ = p.listen.Close()
	}
}
