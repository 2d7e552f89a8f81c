package views

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

// slowVolume is from when on setting up a volume counts as slow.
const slowVolume = time.Second

// Volumes shows the volumes of all pods, first those that failed or are in progress.
type Volumes struct {
	list[*model.Volume]
	rows held[model.Volume]
	now  time.Time
}

// NewVolumes returns the page.
func NewVolumes(look Look) *Volumes {
	p := &Volumes{list: list[*model.Volume]{Look: look, pod: func(r *model.Volume) trace.Pod { return r.Pod }}}
	p.tbl = newTable(look, table.Config[*model.Volume]{
		Columns: p.columns(),
		ID:      func(v *model.Volume) string { return v.Pod.String() + v.Pod.UID + "/" + v.Name },
		Text: func(v *model.Volume) string {
			return v.Pod.String() + " " + v.Name + " " + v.Plugin + " " + string(v.State()) + " " + p.doing(v)
		},
		Failed: func(v *model.Volume) bool { return v.Err != "" || v.Unhealthy != "" || v.Errors > 0 },
		Fields: ofPod(func(r *model.Volume) trace.Pod { return r.Pod }),
		Empty:  "no volume now",
	})
	p.open = p.details
	return p
}

// Name implements Page.
func (*Volumes) Name() string { return "Volumes" }

// Refresh implements Page.
func (p *Volumes) Refresh(f Frame) {
	p.now = f.Now
	rows := f.Model.Volumes()
	sorting.Stable(rows, func(a, b *model.Volume) int { return cmp.Compare(volumeUrgency(a), volumeUrgency(b)) })
	p.tbl.SetRows(p.rows.set(rows))
}

func volumeUrgency(v *model.Volume) int {
	switch {
	case v.Err != "" && !v.Running, v.Unhealthy != "":
		return 0
	case v.Running, len(v.Waits) > 0:
		return 1
	case v.Mounted || v.Torn:
		return 3
	}
	return 2
}

func (p *Volumes) columns() []table.Column[*model.Volume] {
	th := p.Theme
	return []table.Column[*model.Volume]{
		text("pod", 18, 3, 0, func(v *model.Volume) string { return th.Clean(v.Pod.String()) }),
		text("volume", 12, 1, 0, func(v *model.Volume) string { return th.Clean(v.Name) }),
		text("plugin", 10, 0, 2, func(v *model.Volume) string { return th.Clean(strings.TrimPrefix(v.Plugin, "kubernetes.io/")) }),
		toned(text("state", 10, 0, 0, func(v *model.Volume) string { return th.Clean(string(v.State())) }), volumeTone),
		duration("took", 0, slowVolume, p.took),
		oddity("errs", 4, 3, style.Fail, func(v *model.Volume) int64 { return int64(v.Errors) }),
		duration("waited", 4, slowVolume, func(v *model.Volume) time.Duration { return waited(v.Waited) }),
		toned(text("doing", 14, 3, 0, p.doing), func(v *model.Volume) style.Tone {
			return toneIf((v.Err != "" || v.Unhealthy != "") && !v.Running, style.Fail)
		}),
	}
}

func volumeTone(v *model.Volume) style.Tone {
	switch v.State() {
	case model.VolumeFailed:
		return style.Fail
	case model.VolumeWaiting:
		return style.Slow
	case model.VolumeUnmounted, model.VolumePending:
		return style.Dim
	case model.VolumeMounting, model.VolumeUnmounting, model.VolumeMounted:
	}
	return style.Plain
}

// took is how long the operation under way has run, else how long the last setup took.
func (p *Volumes) took(v *model.Volume) time.Duration {
	if v.Running {
		return max(p.now.Sub(v.Since), 1)
	}
	return cmp.Or(v.Setup, v.Dur)
}

func waited(of []model.WaitTotal) (sum time.Duration) {
	for _, t := range of {
		sum += t.Dur
	}
	return sum
}

// doing says what continues with a volume, or what went wrong.
func (p *Volumes) doing(v *model.Volume) string {
	switch {
	case len(v.Waits) > 0:
		return p.Theme.Clean(v.Waits[0].Text())
	case v.Running && v.Progress != nil && !v.Progress.Done:
		return say.Files(v.Progress)
	case v.Running:
		if n := len(v.Calls); n > 0 && v.Calls[n-1].Running {
			return p.Theme.Clean(v.Calls[n-1].Method + " of " + v.Calls[n-1].Driver)
		}
		return p.Theme.Clean(string(v.Op))
	case v.Err != "":
		return p.Theme.Clean(v.Err)
	case v.Unhealthy != "":
		return p.Theme.Clean("unhealthy: " + v.Unhealthy)
	case v.Refreshes > 0:
		return fmt.Sprintf("refreshed %s times", style.Count(v.Refreshes))
	}
	return ""
}

// details opens all that is known of a volume.
func (p *Volumes) details(v *model.Volume) tea.Cmd {
	th := p.Theme
	f := facts{th: th}
	f.add("pod", v.Pod.String(), style.Plain)
	f.add("plugin", v.Plugin, style.Plain)
	f.add("path", v.Path, style.Plain)
	f.add("state", string(v.State()), volumeTone(v))
	f.add("last", strings.TrimSpace(string(v.Op)+" "+style.Clock(v.Since)), style.Plain)
	f.add("took", style.Known(p.took(v)), toneIf(p.took(v) >= slowVolume, style.Slow))
	f.add("errors", style.Count(v.Errors), toneIf(v.Errors > 0, style.Fail))
	f.add("error", v.Err, style.Fail)
	f.add("unhealthy", v.Unhealthy, style.Fail)
	if g := v.Progress; g != nil {
		f.add(string(g.Op), fmt.Sprintf("%s files at %s", style.Count(g.Files), style.Clock(v.ProgressAt)), style.Plain)
	}
	f.waits(v.Waits, v.Waited, p.now)
	if len(v.Calls) > 0 {
		f.head("calls to the driver")
	}
	for _, c := range v.Calls {
		took, tone := style.Dur(c.Dur), style.Plain
		if c.Running {
			took = "open"
		}
		text := c.Method + " " + c.Code
		if e := trace.Failure(&c.CSICall); e != "" {
			text, tone = text+" "+e, style.Fail
		}
		f.lines = append(f.lines, Text{Line: style.Clock(c.Begin) + " " + th.Right(took, style.DurWidth) + "  " + th.Clean(text+"  "+c.Driver+" "+c.Volume), Tone: tone})
	}
	return send(Open{NewPager(p.Look, "volume", th.Clean(v.Pod.String()+"  volume "+v.Name), f.lines).Of(v.Name)})
}
