package views

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// phases are the tones of the stages of a start.
var phases = map[waterfall.Stage]style.Tone{
	waterfall.StageVolumes: style.Volumes, waterfall.StageSandbox: style.Sandbox, waterfall.StageNetwork: style.Network,
	waterfall.StageImage: style.Image, waterfall.StageCreate: style.Create, waterfall.StageProbe: style.Probe,
	waterfall.StageStatus: style.Status, waterfall.StageWait: style.Wait,
}

// phase is the tone of a stage.
func phase(s waterfall.Stage) style.Tone { return phases[s] }

// legend names the phases, each in its tone; it is "" where it has no room in w columns.
func legend(th *style.Theme, w int) string {
	var out []string
	for _, stage := range waterfall.Stages() {
		tone := phase(stage)
		out = append(out, th.Paint(tone, th.Fill(tone)+" "+stage.Name()))
	}
	text := strings.Join(out, "  ")
	if fit.Width(text) > w {
		return ""
	}
	return text
}

// segments draws the critical path of a start as a bar of w columns that is as long as the start in proportion to whole: each phase
// in its tone.
func segments(th *style.Theme, s *model.Start, whole time.Duration, w int) table.Cell {
	all := fit.Width(th.Length(s.ToStarted.Seconds(), whole.Seconds(), w))
	var bar table.Cell
	var done time.Duration
	cols := 0
	for _, seg := range s.Segments {
		done += seg.Dur
		upto := min(int(done.Seconds()/max(s.ToStarted.Seconds(), 1e-9)*float64(all)+0.5), all)
		if upto > cols {
			tone := phase(seg.Stage())
			bar.Parts = append(bar.Parts, table.Cell{Text: strings.Repeat(th.Fill(tone), upto-cols), Tone: tone})
			cols = upto
		}
	}
	return bar
}
