package export

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// figure is a number that is said of a start, with its name.
type figure struct{ Name, Value string }

// figures are the milestones, the floor and what is unexplained.
func figures(f *waterfall.Waterfall) []figure {
	out := []figure{{"started", human.Duration(f.Started)}}
	if f.Started < 0 {
		out = []figure{{"so far", human.Duration(f.End)}}
	}
	if f.Ready >= 0 {
		out = append(out, figure{"ready", human.Duration(f.Ready)})
	}
	if f.Told >= 0 {
		out = append(out, figure{"in the API", human.Duration(f.Told)})
	}
	if f.Floor > 0 {
		out = append(out, figure{"floor", human.Duration(f.Floor)})
	}
	return append(out, figure{"unexplained", human.Duration(f.Unexplained)})
}

// part is all of the critical path that is one part.
type part struct {
	waterfall.Part
	Dur   time.Duration
	Share int // of the whole path, in percent
}

// Time is how long, for people.
func (p part) Time() string { return human.Duration(p.Dur) }

// parts adds up a path by its parts, in the order of time. What is unexplained comes last.
func parts(path []waterfall.Segment, whole time.Duration) []part {
	var out []part
	at := map[waterfall.Part]int{}
	unexplained := part{Part: waterfall.Part{Kind: waterfall.SegmentUnexplained}}
	for _, s := range path {
		if s.Kind == waterfall.SegmentUnexplained {
			unexplained.Dur += s.Dur()
			continue
		}
		i, ok := at[s.Part]
		if !ok {
			i, at[s.Part] = len(out), len(out)
			out = append(out, part{Part: s.Part})
		}
		out[i].Dur += s.Dur()
	}
	out = append(out, unexplained)
	for i := range out {
		out[i].Share = waterfall.Percent(out[i].Dur, whole)
	}
	return out
}

// hasTail reports whether it took a while from started to ready, so that it is worth telling of what.
func hasTail(f *waterfall.Waterfall) bool {
	return len(f.Tail) > 0 && f.Ready-f.Started > max(f.Started/100, 5*time.Millisecond)
}

// slowRow returns the row that set the pace: critical, not nested, and at least half of a
// start that is finished. It is -1 when there is none.
func slowRow(f *waterfall.Waterfall, rows []waterfall.Row) (row, share int) {
	row = -1
	var most time.Duration
	for i, r := range rows {
		d := min(r.End, f.Length()) - r.Start
		if f.Started >= 0 && r.Critical && r.Depth == 0 && d > most && 2*d >= f.Length() {
			row, most = i, d
		}
	}
	return row, waterfall.Percent(most, f.Length())
}

// about says everything of a row, a line for each fact.
func about(r waterfall.Row) []figure {
	out := []figure{{"", human.Line(r.Text())}}
	if r.Kind == waterfall.RowSeen {
		return out
	}
	took := human.Duration(r.Dur())
	if r.Open {
		took += ", has not ended"
	}
	out = append(out, figure{"took", took}, figure{"from", human.Duration(r.Start) + " to " + human.Duration(r.End)})
	if r.Wait != "" {
		out = append(out, figure{"waits for", human.Line(string(r.Wait))})
	}
	if r.Critical {
		out = append(out, figure{"", "on the critical path"})
	}
	if r.Note != "" {
		out = append(out, figure{"", human.Line(r.Note)})
	}
	if r.Err != "" {
		out = append(out, figure{"failed", human.Line(r.Err)})
	}
	return out
}

// lines writes figures as "name value".
func lines(in []figure) []string {
	var out []string
	for _, f := range in {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s", f.Name, f.Value)))
	}
	return out
}
