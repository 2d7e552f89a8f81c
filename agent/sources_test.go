package agent_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Pods of the API wait until the node's object is known: they would be rejected because of labels that the agent does not know. Others do not.
func TestPodsOfAPIWaitForNode(t *testing.T) {
	h := newHost(t, nil)
	api, flags := h.api()
	api.refused = "/api/v1/nodes"
	n := run(t, h.config(flags...))
	static := podOf("static")
	n.source.Set(static)
	n.until("start", milestone("started", static))
	n.until("a refused registration", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.NodeStatus)
		return ok && e.Err != ""
	})
	if got := api.lists("/api/v1/pods"); got != 0 {
		t.Errorf("%d lists of pods without a node", got)
	}
	api.mu.Lock()
	api.refused = ""
	api.mu.Unlock()
	for end := time.Now().Add(time.Minute); api.lists("/api/v1/pods") == 0; time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // until the API has it
		if time.Now().After(end) {
			t.Fatal("pods are not listed")
		}
	}
	n.end()
}

func (a *apiServer) lists(path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listed[path]
}
