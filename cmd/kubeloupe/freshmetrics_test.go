package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestFreshMetrics asks for metrics right after a record was published, and when nothing is read any more.
func TestFreshMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := newMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		bus := trace.NewBus(64)
		go m.run(t.Context(), bus)
		synctest.Wait()
		relists := func() string {
			w := httptest.NewRecorder()
			m.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
			for line := range strings.Lines(w.Body.String()) {
				if n, ok := strings.CutPrefix(line, "kubelet_pleg_relist_duration_seconds_count "); ok {
					return strings.TrimSpace(n)
				}
			}
			return ""
		}
		began := time.Now()
		for _, want := range []string{"1", "2"} {
			trace.End(bus, trace.Begin(bus, trace.Span{}, trace.PLEGRelist{}), trace.PLEGRelist{})
			if got := relists(); got != want {
				t.Errorf("%q relists, want %s", got, want)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		stuck := bus.Subscribe(trace.FromOldest) // nobody reads
		m.from.Store(stuck)
		if got := relists(); got != "2" || time.Since(began) != settleTime {
			t.Errorf("%q relists after %v, want 2 after %v", got, time.Since(began), settleTime)
		}
		stuck.Close()
		if relists(); time.Since(began) != settleTime {
			t.Error("waited for a reader that has ended")
		}
	})
}
