package views

import (
	"iter"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

const (
	// trendColumns is how many columns a trend has at most, each for trendStep; for trendShort as long as nothing older is kept.
	trendColumns = 60
	trendStep    = 5 * time.Second
	trendShort   = time.Second
)

// trend is how a duration changed in the last minutes: a line above a list, on screens with panels.
type trend struct {
	at      time.Time // when it was computed
	of      string
	figures []float64 // the longest of each step, the oldest first; -1 is unknown
	most    time.Duration
	span    time.Duration
}

// refresh computes the trend of what has that name anew, once a second. times are the newest first.
func (t *trend) refresh(now time.Time, of string, times iter.Seq2[time.Time, time.Duration]) {
	if age := now.Sub(t.at); t.of == of && age >= 0 && age < time.Second {
		return
	}
	*t = trend{at: now, of: of, figures: make([]float64, trendColumns), span: trendColumns * trendShort}
	fine := make([]float64, trendColumns)
	for i := range fine {
		fine[i], t.figures[i] = -1, -1
	}
	long := false
	for end, took := range times {
		age := now.Sub(end)
		if age >= trendColumns*trendStep {
			long = true
			break
		}
		long = long || age >= trendColumns*trendShort
		noteMost(t.figures, age, trendStep, took)
		noteMost(fine, age, trendShort, took)
		t.most = max(t.most, took)
	}
	if t.span = trendColumns * trendStep; !long {
		t.figures, t.span = fine, trendColumns*trendShort
	}
}

// noteMost keeps the longest duration of each step.
func noteMost(figures []float64, age, step, took time.Duration) {
	if i := len(figures) - 1 - int(max(age, 0)/step); i >= 0 {
		figures[i] = max(figures[i], took.Seconds())
	}
}

// line draws the trend in w columns.
func (t *trend) line(th *style.Theme, w int, tone style.Tone, least time.Duration) string {
	lead := " " + th.Clean(t.of) + "  "
	rest := "  longest " + style.Known(t.most) + " in " + style.Dur(t.span)
	room := min(w-fit.Width(lead)-fit.Width(rest)-1, trendColumns)
	if room < 8 {
		return th.Paint(style.Dim, th.Cut(lead+rest, w))
	}
	figures := t.figures
	if n := len(figures) - room; n > 0 {
		figures = figures[n:]
	}
	return th.Paint(style.Dim, lead) + th.Paint(tone, th.Spark(figures, least.Seconds())) + th.Paint(style.Dim, rest)
}
