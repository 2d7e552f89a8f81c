package views

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// At 80 columns, a row has room for 38: the threshold's value is in it.
func TestPressureThatIsNarrow(t *testing.T) {
	gc := trace.Threshold{Kind: trace.ThresholdImageGC, Percent: 85, DownTo: 80}
	of := func(all ...trace.Threshold) model.Pressure {
		return model.Pressure{Pressure: trace.Pressure{Signal: trace.SignalImageFS, Used: 10, Capacity: 100, Thresholds: all}}
	}
	for _, c := range []struct {
		p    model.Pressure
		w    int
		want string
	}{
		{of(trace.Threshold{Kind: trace.ThresholdPressure, Bytes: 100 << 20}), 38, "at 100 MiB free"},
		{of(trace.Threshold{Kind: trace.ThresholdPressure, Bytes: 100 << 20}), 60, "pressure below 100 MiB free"},
		{of(gc, trace.Threshold{Kind: trace.ThresholdPressure, Percent: 15}), 38, "at 15% free"},
		{of(gc, trace.Threshold{Kind: trace.ThresholdPressure, Percent: 15}), 60, "image GC at 85% → 80%, pressure"},
		{of(gc), 38, "image GC at 85…"},
	} {
		if got := escapes.ReplaceAllString(pressureRow(style.New(false), c.p, c.w), ""); !strings.Contains(got, "10%  "+c.want) {
			t.Errorf("%d columns: %q, want %q", c.w, got, c.want)
		}
	}
}
