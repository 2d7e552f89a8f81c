package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/interval"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// columns of the table.
const floorColumn = "floor"

// line is a line of the table, with the samples of each column.
type line struct {
	title string
	unit  string
	// reach says whether kubeloupe's value is good, and what would be.
	reach func(floor, upstream, ours float64) (bool, string)
	// part says that it is a part of another line, and need not be compared with upstream's.
	part bool
	// share is the largest ratio to upstream's value, for a line with a sample of both agents in each round: these are compared in pairs. 0 for
	// other lines.
	share float64
	// floors are the samples of floors that compete, by width: see best.
	floors  map[int][]float64
	samples map[string][]float64
}

// table is made line by line, in the order of first use.
type table struct{ lines []*line }

func (t *table) line(title, unit string, reach func(floor, upstream, ours float64) (bool, string)) *line {
	if i := slices.IndexFunc(t.lines, func(l *line) bool { return l.title == title }); i >= 0 {
		return t.lines[i]
	}
	l := &line{title: title, unit: unit, reach: reach, floors: map[int][]float64{}, samples: map[string][]float64{}}
	t.lines = append(t.lines, l)
	return l
}

// times is a line of milliseconds.
func (t *table) times(title string, reach func(floor, upstream, ours float64) (bool, string)) *line {
	return t.line(title, "ms", reach)
}

// partTimes is a line of milliseconds that is a part of another.
func (t *table) partTimes(title string, reach func(floor, upstream, ours float64) (bool, string)) *line {
	l := t.times(title, reach)
	l.part = true
	return l
}

// pairTimes is a line of milliseconds with a sample of both agents in each round.
func (t *table) pairTimes(title string, share float64) *line {
	l := t.times(title, ofUpstream(share))
	l.share = share
	return l
}

func (l *line) floor(width int, d time.Duration) { l.floors[width] = append(l.floors[width], milli(d)) }

func (l *line) agent(kind lab.AgentKind, d time.Duration) { l.value(kind, milli(d)) }

func (l *line) value(kind lab.AgentKind, v float64) {
	l.samples[string(kind)] = append(l.samples[string(kind)], v)
}

func milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func fromMilli(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

// get returns the median of a column.
func (l *line) get(column string) (float64, bool) {
	if column == floorColumn {
		return best(l.floors), len(l.floors) > 0
	}
	return median(l.samples[column]), len(l.samples[column]) > 0
}

// best is the median of the floor at its best width. A sample counts if its width is the best by all other samples: the least median of all would
// be that of the luckiest width. Where there are too few samples for that, it is the median of all of them.
func best(floors map[int][]float64) float64 {
	var all, count []float64
	for width, samples := range floors {
		all = append(all, samples...)
		for i, s := range samples {
			rest := maps.Clone(floors)
			rest[width] = slices.Delete(slices.Clone(samples), i, i+1)
			if bestWidth(rest) == width {
				count = append(count, s)
			}
		}
	}
	if len(count) == 0 {
		return median(all)
	}
	return median(count)
}

func bestWidth(floors map[int][]float64) (width int) {
	for w, samples := range floors {
		if len(samples) == 0 {
			continue
		}
		if m, least := median(samples), median(floors[width]); width == 0 || m < least || m == least && w < width {
			width = w
		}
	}
	return width
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// print writes the table as Markdown.
func (t *table) print(w io.Writer) {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	p("\n| %-58s | %9s | %9s | %9s | %8s | %8s | %8s | %-22s | |\n", "p50", "floor", "upstream", "kubeloupe", "up/floor", "kl/floor", "kl/up", "target")
	p("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n")
	for _, l := range t.lines {
		floor, hasFloor := l.get(floorColumn)
		up, hasUp := l.get(string(lab.Upstream))
		ours, hasOurs := l.get(string(lab.Kubeloupe))
		reach, verdict := "", ""
		if hasOurs && l.reach != nil {
			ok, want := l.reach(floor, up, ours)
			reach, verdict = want, "reached"
			if hasUp && !l.part && (ours > up || reach == "") {
				ok, reach = ok && ours <= up, strings.TrimPrefix(reach+", ≤ upstream", ", ")
			}
			if !ok {
				verdict = "missed"
			}
		}
		p("| %-58s | %9s | %9s | %9s | %8s | %8s | %8s | %-22s | %s |\n", l.title+", "+l.unit,
			number(floor, hasFloor), number(up, hasUp), number(ours, hasOurs),
			ratio(up, floor, hasUp && hasFloor), ratio(ours, floor, hasOurs && hasFloor), ratio(ours, up, hasOurs && hasUp), reach, verdict)
	}
	for _, l := range t.lines {
		up, ours := l.samples[string(lab.Upstream)], l.samples[string(lab.Kubeloupe)]
		if n := min(len(up), len(ours)); l.share > 0 && n > 1 {
			i := interval.Of(up, ours)
			p("%s, × upstream's: %s, of %d rounds  ≤ %.2f %s\n", l.title, i, n, l.share, i.Verdict(l.share))
		}
	}
}

func number(v float64, has bool) string {
	switch {
	case !has:
		return "–"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

func ratio(a, b float64, has bool) string {
	if !has || b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// Reaches.

func ofFloor(r float64) func(floor, upstream, ours float64) (bool, string) {
	return func(floor, _, ours float64) (bool, string) {
		return ours <= r*floor, fmt.Sprintf("≤ %.2f × floor", r)
	}
}

func ofUpstream(r float64) func(floor, upstream, ours float64) (bool, string) {
	return func(_, up, ours float64) (bool, string) {
		return up == 0 || ours <= r*up, fmt.Sprintf("≤ %.2f × upstream", r)
	}
}

// noSlower leaves it to the comparison with upstream.
func noSlower(_, _, _ float64) (bool, string) { return true, "" }

func atMost(limit float64) func(floor, upstream, ours float64) (bool, string) {
	return func(_, _, ours float64) (bool, string) { return ours <= limit, fmt.Sprintf("≤ %.0f", limit) }
}
