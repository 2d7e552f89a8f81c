package podstatus

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A container that could not be started ended, and never began: its status says 1970, as upstream's, and a trace says nothing.
func TestNeverStarted(t *testing.T) {
	c := exited("a", 128)
	c.Reason, c.StartedAt = "StartError", time.Time{}
	pod := aPod(v1.RestartPolicyAlways, "a")
	s := Generate(pod, seen(c), Inputs{Now: at(9), Runtime: "containerd"})
	text, err := json.Marshal(s.ContainerStatuses[0].State)
	if want := `"startedAt":"1970-01-01T00:00:00Z","finishedAt":"2026-`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if got := Trace(pod, s, seen(c)).Containers[0]; !got.Started.IsZero() || got.Finished.IsZero() {
		t.Errorf("traced: %+v", got)
	}
}
