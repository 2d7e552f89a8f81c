package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

func TestBest(t *testing.T) {
	for _, c := range []struct {
		name   string
		floors map[int][]float64
		want   float64
	}{
		{"none", nil, 0},
		{"one width", map[int][]float64{1: {3, 1, 2}}, 2},
		{"one of each, of which none is known to be the best", map[int][]float64{2: {100}, 3: {90}, 4: {110}}, 100},
		{"one is clearly the best", map[int][]float64{2: {100, 104, 102}, 3: {200, 201, 202}}, 102},
		{"alike: the lucky ones do not make the floor", map[int][]float64{2: {90, 110}, 3: {91, 109}}, 109.5},
	} {
		if got := best(c.floors); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	var tab table
	l := tab.times("burst", ofFloor(1.10))
	for _, d := range []time.Duration{1, 2, 900} { // one outlier is not the median
		l.floor(2, d*100*time.Millisecond)
		l.floor(3, d*50*time.Millisecond) // the best width counts: 100 ms
		l.floor(3, d*50*time.Millisecond)
		l.agent(lab.Upstream, d*200*time.Millisecond)
		l.agent(lab.Kubeloupe, d*54*time.Millisecond)
	}
	if again := tab.times("burst", nil); again != l {
		t.Error("the same title is another line")
	}
	slow := tab.times("slow", noSlower)
	slow.agent(lab.Upstream, 20*time.Millisecond)
	slow.agent(lab.Kubeloupe, 30*time.Millisecond)
	part := tab.partTimes("part", atMost(15))
	part.agent(lab.Upstream, 5*time.Millisecond)
	part.agent(lab.Kubeloupe, 12*time.Millisecond)
	pairs := tab.pairTimes("pairs", 0.5)
	for _, up := range []time.Duration{10, 20, 30, 40, 50, 60} { // the machine gets slower; of each pair, ours is 0.4
		pairs.agent(lab.Upstream, up*time.Millisecond)
		pairs.agent(lab.Kubeloupe, up*400*time.Microsecond)
	}
	var b strings.Builder
	tab.print(&b)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")[2:]
	for i, want := range [][]string{
		{"burst, ms", "100", "400", "108", "4.00", "1.08", "0.27", "≤ 1.10 × floor", "reached"},
		{"slow, ms", "–", "20", "30", "–", "–", "1.50", "≤ upstream", "missed"},
		{"part, ms", "–", "5.00", "12", "–", "–", "2.40", "≤ 15", "reached"},
		{"pairs, ms", "–", "35", "14", "–", "–", "0.40", "≤ 0.50 × upstream", "reached"},
	} {
		var got []string
		for cell := range strings.SplitSeq(strings.Trim(lines[i], "|"), "|") {
			got = append(got, strings.TrimSpace(cell))
		}
		if strings.Join(got, ";") != strings.Join(want, ";") {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got, want := lines[len(lines)-1], "pairs, × upstream's: ratio 0.400 (0.400 … 0.400), of 6 rounds  ≤ 0.50 shown"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
