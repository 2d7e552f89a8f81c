package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/replay"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// stuckLoop is how long an iteration of syncLoop may take before the header says
// so. That none has come for long is no trouble: the loop is driven by events.
const stuckLoop = time.Second

// lostAPI is for how long the API server must have failed for the header to say so.
const lostAPI = time.Second

// status is what the header tells.
type status struct {
	node    model.Node
	turning model.Loop // the iteration under way; N is 0 when there is none
	now     time.Time
	rate    float64
	frozen  bool
	waiting uint64 // records, while frozen
	ended   string // why the stream ended; "" while it lives
	label   string // what is shown, "" is the live agent
	cut     bool   // the connection is
	play    *replay.State
	follows bool // the page stays with the newest row
	api     model.API
}

func (a *app) status() status {
	turning, _ := a.model.Iterating()
	s := status{
		turning: turning, node: a.model.Node(), now: a.now, rate: a.model.Rate(a.now),
		api: a.model.API(), frozen: a.backlog.frozen, waiting: a.backlog.came,
		label: a.cfg.Label, cut: a.ended == nil && a.trouble() != "",
	}
	if a.cfg.LabelNow != nil {
		s.label = a.cfg.LabelNow()
	} else if s.label != "" && s.node.PID != 0 {
		s.label += " pid " + strconv.Itoa(s.node.PID)
	}
	if a.ended != nil {
		s.ended = a.ended.Error()
	}
	if a.cfg.Player != nil {
		s.play = new(a.cfg.Player.State())
	}
	if f, ok := a.top().(views.Follower); ok {
		s.follows = f.Following()
	}
	return s
}

// segment is a part of the header; the highest drop goes first when it is narrow.
type segment struct {
	text  string
	tone  style.Tone
	drop  int
	short string // what is left when it would be dropped first; "" nothing
}

// header draws the first line of the screen in w columns.
func header(th *style.Theme, s status, w int) string {
	left := s.left(th)
	right := s.right(th)
	for width(left, " "+th.Glyphs.Dot+" ")+2+width(right, "  ") > w {
		if !dropOne(&left, &right) {
			break
		}
	}
	l, r := width(left, " "+th.Glyphs.Dot+" "), width(right, "  ")
	if l+1+r > w {
		return th.Left(plainText(right, "  "), w)
	}
	return paint(th, left, th.Paint(style.Dim, " "+th.Glyphs.Dot+" ")) + fit.Spaces(w-l-r) + paint(th, right, "  ")
}

func (s status) left(th *style.Theme) []segment {
	n := s.node
	name := segment{text: "kubeloupe", tone: style.Strong}
	if n.Name != "" {
		short := th.CutMid(th.Clean(n.Name), 30)
		name = segment{text: "kubeloupe " + short, short: short, tone: style.Strong, drop: 8}
	}
	out := []segment{name}
	if n.Simulated {
		out = append(out, segment{text: "SIMULATED", tone: style.Slow})
	}
	if runtime := strings.TrimSpace(n.Runtime + " " + n.RuntimeVersion); runtime != "" {
		out = append(out, segment{text: th.Cut(th.Clean(runtime), 24), drop: 4})
	}
	if !n.Since.IsZero() {
		out = append(out, segment{text: "up " + style.Dur(max(s.now.Sub(n.Since), 0).Truncate(time.Second)), drop: 6})
	}
	if n.State != "" && n.State != trace.AgentReady {
		text := string(n.State)
		if n.Reason != "" {
			text += ": " + n.Reason
		}
		out = append(out, segment{text: th.Cut(th.Clean(text), 40), tone: style.Slow, drop: 2})
	}
	if sh := n.Shutdown; !sh.Since.IsZero() {
		text := "SHUTTING DOWN"
		if sh.Groups > 0 && !sh.Released {
			text += fmt.Sprintf(" group %d of %d", sh.Group, sh.Groups)
		}
		out = append(out, segment{text: text, short: "SHUTTING DOWN", tone: style.Fail})
	}
	return out
}

func (s status) right(th *style.Theme) []segment {
	n := s.node
	var out []segment
	if d := s.now.Sub(s.turning.Begin); s.turning.N > 0 && d > stuckLoop {
		out = append(out, segment{text: "loop busy " + style.Age(d), tone: style.Slow, drop: 1})
	} else if !n.LastLoop.IsZero() {
		out = append(out, segment{text: "loop " + th.Glyphs.Live + " " + style.Age(max(s.now.Sub(n.LastLoop), 0)), drop: 3})
	}
	if n.PLEGMode != "" {
		out = append(out, segment{text: "PLEG " + th.Clean(string(n.PLEGMode)), drop: 5})
	}
	rate := int(s.rate + 0.5)
	if s.rate > 0 && rate == 0 {
		rate = 1
	}
	out = append(out, segment{text: th.Meter(busy(rate)), tone: style.Dim, drop: 9}, segment{text: strconv.Itoa(rate) + " ev/s", drop: 7})
	if d := s.now.Sub(s.api.Since); s.api.Failing > 0 && d >= lostAPI {
		out = append(out, segment{text: "API failing " + style.Age(d), tone: style.Fail})
	}
	if n.Lost > 0 {
		out = append(out, segment{text: "dropped " + style.Count(n.Lost), tone: style.Slow})
	}
	if s.follows && !s.frozen {
		out = append(out, segment{text: "follow", tone: style.Dim, drop: 3})
	}
	if s.play != nil && !s.frozen {
		return append(out, replayBar(th, *s.play)...)
	}
	return append(out, s.state(th))
}

// state says whether what is on screen moves.
func (s status) state(th *style.Theme) segment {
	switch {
	case s.frozen:
		return segment{text: "FROZEN +" + style.Count(s.waiting), tone: style.Badge}
	case s.ended != "":
		return segment{text: "ENDED", tone: style.Strong}
	}
	if s.cut {
		return segment{text: "CUT OFF", tone: style.Fail}
	}
	if short, _, more := strings.Cut(s.label, " ("); more { // what is in brackets is left out first
		return segment{text: th.Cut(th.Clean(s.label), 72), short: th.Cut(th.Clean(short), 28), tone: style.Strong, drop: 5}
	}
	if s.label != "" {
		return segment{text: th.Cut(th.Clean(s.label), 60), short: th.Cut(th.Clean(s.label), 24), tone: style.Strong, drop: 5}
	}
	return segment{text: "LIVE", tone: style.Strong}
}

func busy(rate int) int {
	switch {
	case rate <= 0:
		return 0
	case rate < 50:
		return 1
	case rate < 500:
		return 2
	}
	return 3
}

// dropOne takes away the segment that matters least; false when all that is left matters.
func dropOne(parts ...*[]segment) bool {
	var in *[]segment
	at, worst := -1, 0
	for _, p := range parts {
		for i, s := range *p {
			if s.drop > worst {
				in, at, worst = p, i, s.drop
			}
		}
	}
	if in == nil {
		return false
	}
	if s := &(*in)[at]; s.short != "" {
		s.text, s.short, s.drop = s.short, "", 1
		return true
	}
	*in = slices.Delete(*in, at, at+1)
	return true
}

func width(parts []segment, gap string) int { return fit.Width(plainText(parts, gap)) }

func plainText(parts []segment, gap string) string {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.text)
	}
	return strings.Join(texts, gap)
}

func paint(th *style.Theme, parts []segment, gap string) string {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, th.Paint(p.tone, p.text))
	}
	return strings.Join(texts, gap)
}
