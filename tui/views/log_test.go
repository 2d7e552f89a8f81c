package views

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// TestLogHue: a row of the log has the hue of its phase, unless it tells of trouble.
func TestLogHue(t *testing.T) {
	record := func(e trace.Event) logRow { return logRow{rec: &trace.Record{Event: e}} }
	for name, c := range map[string]struct {
		row  logRow
		want style.Tone
	}{
		"a call":         {record(&trace.CRICall{Method: "RunPodSandbox"}), style.Sandbox},
		"a pull":         {record(&trace.ImagePull{}), style.Image},
		"begin":          {logRow{rec: &trace.Record{Edge: trace.EdgeBegin, Event: &trace.ImagePull{}}}, style.Image},
		"an Event":       {record(&trace.NodeEvent{Reason: "Pulling"}), style.Image},
		"a line":         {logRow{line: model.Line{Level: trace.LevelInfo, Reason: "Started"}}, style.Create},
		"a warning":      {logRow{line: model.Line{Level: trace.LevelWarn, Reason: "FailedMount"}}, style.Slow},
		"without phase":  {logRow{line: model.Line{Level: trace.LevelInfo}}, style.Plain},
		"unknown reason": {record(&trace.NodeEvent{Reason: "Other"}), style.Plain},
	} {
		if got := c.row.hue(); got != c.want {
			t.Errorf("%s: tone %v, want %v", name, got, c.want)
		}
	}
}
