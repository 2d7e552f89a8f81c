package agent

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/auth"
	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

func TestMeasureTokens(t *testing.T) {
	var none, some measured
	measureTokens(&none, auth.Counts{})
	if f := none.Families(); len(f) != 0 {
		t.Errorf("before any token: %v", f)
	}
	measureTokens(&some, auth.Counts{
		Hits: exposition.Durations{N: 3, Seconds: .25}, Misses: exposition.Durations{N: 2, Seconds: 1.5}, Reviewed: 1, Reviewing: 1, Waiting: 4,
	})
	w := httptest.NewRecorder()
	some.Answer(w, httptest.NewRequest("GET", "/metrics", nil))
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") {
			got = append(got, strings.TrimSpace(strings.TrimPrefix(line, "authentication_token_cache_")))
		}
	}
	want := `request_duration_seconds_sum{status="hit"} 0.25
request_duration_seconds_count{status="hit"} 3
request_duration_seconds_sum{status="miss"} 1.5
request_duration_seconds_count{status="miss"} 2
request_total{status="hit"} 3
request_total{status="miss"} 2
fetch_total{status="ok"} 1
active_fetch_count{status="in_flight"} 1
active_fetch_count{status="blocked"} 4`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestMeasureCredentials(t *testing.T) {
	var none, one measured
	measureCredentials(&none, "")
	if f := none.Families(); len(f) != 0 {
		t.Errorf("without a configuration: %v", f)
	}
	measureCredentials(&one, "sha256:1f")
	f := one.Families()
	if len(f) != 1 || f[0].GetName() != "kubelet_credential_provider_config_info" || len(f[0].GetMetric()) != 1 {
		t.Fatalf("%v", f)
	}
	if m := f[0].GetMetric()[0]; m.GetGauge().GetValue() != 1 || len(m.GetLabel()) != 1 || m.GetLabel()[0].GetName() != "hash" || m.GetLabel()[0].GetValue() != "sha256:1f" {
		t.Errorf("%v", m)
	}
}
