package tui

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/replay"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// Player controls a recording that is the Source. inspect/replay's does.
type Player interface {
	State() replay.State
	Pause(bool)
	Step(n int)
	StepLine()
	SetSpeed(float64)
	Seek(time.Time)
	NextMark() (replay.Mark, bool)
	PrevMark() (replay.Mark, bool)
}

// speeds are those that the keys go through.
var speeds = []float64{.1, .25, .5, 1, 2, 4, 8, 16, 64, 256, replay.Max}

// replayKey takes a key of the replay.
func (a *app) replayKey(msg tea.KeyPressMsg) (taken bool) {
	p := a.cfg.Player
	if p == nil {
		return false
	}
	k, s := a.look.Keys.Replay, p.State()
	switch {
	case key.Matches(msg, k.Pause):
		p.Pause(s.Playing)
	case key.Matches(msg, k.Forward):
		p.Step(1)
	case key.Matches(msg, k.Backward):
		p.Step(-1)
	case key.Matches(msg, k.Faster):
		a.setSpeed(1)
	case key.Matches(msg, k.Slower):
		a.setSpeed(-1)
	case key.Matches(msg, k.Line):
		p.StepLine()
	case key.Matches(msg, k.NextMark):
		m, ok := p.NextMark()
		a.marked(m, ok, "there is no later mark")
	case key.Matches(msg, k.PrevMark):
		m, ok := p.PrevMark()
		a.marked(m, ok, "there is no earlier mark")
	default:
		return false
	}
	return true
}

// marked says what was jumped to.
func (a *app) marked(m replay.Mark, ok bool, none string) {
	if ok {
		none = style.Clock(m.Time) + "  " + m.Label
	}
	a.tell(views.Say{Text: none})
}

// setSpeed continues to the next speed, or back.
func (a *app) setSpeed(by int) {
	now, i := a.cfg.Player.State().Speed, 0
	for i < len(speeds)-1 && speeds[i] < now {
		i++
	}
	i = max(min(i+by, len(speeds)-1), 0)
	a.cfg.Player.SetSpeed(speeds[i])
	a.tell(views.Say{Text: "speed " + speedText(speeds[i])})
}

func speedText(s float64) string {
	if s >= replay.Max {
		return "as fast as it goes"
	}
	return "×" + strconv.FormatFloat(s, 'f', -1, 64)
}

// timeChoice is a time that was typed in the palette; ok is false if the text is none, or this is no replay.
func (a *app) timeChoice(text string) (c choice, ok bool) {
	if a.cfg.Player == nil {
		return choice{}, false
	}
	t, err := seekTime(text, a.cfg.Player.State())
	if err != nil || t.IsZero() {
		return choice{}, false
	}
	return choice{text: text, does: "go to " + style.Clock(t), run: func() tea.Cmd { a.seek(text); return nil }}, true
}

// checkTime says what is wrong with a time.
func (a *app) checkTime(text string) error {
	_, err := seekTime(text, a.cfg.Player.State())
	return err
}

func (a *app) seek(text string) {
	t, err := seekTime(text, a.cfg.Player.State())
	if err != nil {
		a.tell(views.Say{Text: err.Error(), Bad: true})
		return
	}
	if !t.IsZero() {
		a.cfg.Player.Seek(t)
	}
}

// seekTime reads a time of day, a way from here, a part of the whole, or an
// instant in full; "" is no time.
func seekTime(text string, s replay.State) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "+" || text == "-" {
		return time.Time{}, nil
	}
	if text[0] == '+' || text[0] == '-' {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("%s is no duration: want one as +30s or -1m30s", text)
		}
		return clamped(s.At.Add(d), s), nil
	}
	if n, ok := strings.CutSuffix(text, "%"); ok {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil || f < 0 || f > 100 {
			return time.Time{}, fmt.Errorf("%s is no part: want 0%% to 100%%", text)
		}
		return s.First.Add(time.Duration(f / 100 * float64(s.Last.Sub(s.First)))), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return clamped(t, s), nil
	}
	for _, layout := range []string{"15:04:05.999999999", "15:04"} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		y, m, d := s.First.Local().Date()
		t = time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.Local)
		if t.Before(s.First) && !t.AddDate(0, 0, 1).After(s.Last) { // the recording goes past midnight
			t = t.AddDate(0, 0, 1)
		}
		return clamped(t, s), nil
	}
	return time.Time{}, errors.New("want a time as 12:03:04, +30s, -2m or 50%")
}

// clamped is the nearest instant of the recording.
func clamped(t time.Time, s replay.State) time.Time {
	switch {
	case t.Before(s.First):
		return s.First
	case t.After(s.Last):
		return s.Last
	}
	return t
}

// replayBar says in the header where the replay is.
func replayBar(th *style.Theme, s replay.State) []segment {
	word := segment{text: "REPLAY " + th.Glyphs.Mark, tone: style.Strong}
	switch {
	case s.Jumping:
		word = segment{text: "JUMPING", tone: style.Strong}
	case s.AtEnd:
		word = segment{text: "AT ITS END", tone: style.Strong}
	case !s.Playing:
		word = segment{text: "PAUSED", tone: style.Badge}
	}
	if s.Speed != 1 {
		word.text += " " + speedText(s.Speed)
	}
	at := s.At.Format("15:04:05")
	if !s.Playing {
		at = style.Clock(s.At)
	}
	of := segment{text: at + " / " + s.Last.Format("15:04:05"), short: at, drop: 3}
	done := segment{text: th.Bar(float64(s.At.Sub(s.First)), float64(s.Last.Sub(s.First)), 10), tone: style.Dim, drop: 5}
	return []segment{word, of, done}
}

// replayed says which record was the last one.
func replayed(s replay.State) string {
	if s.Of == 0 {
		return "event " + style.Count(s.Records)
	}
	return "event " + style.Count(s.Records) + " of " + style.Count(s.Of)
}

// rewound reports whether an error says that records begin again.
func rewound(err error) bool {
	if errors.Is(err, replay.ErrRewound) {
		return true
	}
	r, ok := errors.AsType[interface {
		error
		Rewound() bool
	}](err)
	return ok && r.Rewound()
}
