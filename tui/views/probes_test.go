package views

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestProbeResult(t *testing.T) {
	for _, c := range []struct {
		state trace.ProbeState
		last  trace.ProbeResult
		want  string
	}{
		{trace.ProbeSays, trace.ProbeSuccess, "success"},
		{trace.ProbeSays, trace.ProbeFailure, "failing"},
		{trace.ProbeUnknown, "", "unknown"},
		{trace.ProbeUnknown, trace.ProbeFailure, "failing"}, // a startup probe
		{trace.ProbeUnknown, trace.ProbeError, "failing"},
		{trace.ProbeDenies, trace.ProbeFailure, "failure"},
	} {
		if got := result(&model.Probe{State: c.state, Result: c.last}); got != c.want {
			t.Errorf("%s, last %q: %q, want %q", c.state, c.last, got, c.want)
		}
	}
}
