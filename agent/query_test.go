package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
)

func TestQuery(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	if _, err := prepare(t, h.config()).Query(t.Context(), "config", nil); !errors.Is(err, agent.ErrNotReady) {
		t.Errorf("before the start: %v", err)
	}
	n := run(t, h.config())
	n.source.Set(podOf("web"))
	n.until("ready", milestone("ready", nil)) // the container was observed before that
	for what, want := range map[string]string{
		"config": `"syncFrequency"`, "images": `"used_by":["default/web"]`, "node": `"simulated":true`,
	} {
		got, err := n.Query(t.Context(), what, nil)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		text, err := json.Marshal(got)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s (%v), want %s in it", what, text, err, want)
		}
	}
	if _, err := n.Query(t.Context(), "cgroup", map[string]string{"pod": "default/web"}); err == nil || !strings.Contains(err.Error(), "simulated") {
		t.Errorf("cgroups of the simulated runtime: %v", err)
	}
	if _, err := n.Query(t.Context(), "weather", nil); err == nil || !strings.Contains(err.Error(), "must be config") {
		t.Errorf("unknown query: %v", err)
	}
	n.end()
}
