package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

func TestTable(t *testing.T) {
	var tab table
	l := tab.times("burst", ofFloor(1.10))
	for _, d := range []time.Duration{1, 2, 900} { // one outlier is not the median
		l.floor(2, d*100*time.Millisecond)
		l.floor(3, d*50*time.Millisecond) // the best width counts: 100 ms
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
	var b strings.Builder
	tab.print(&b)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")[2:]
	for i, want := range [][]string{
		{"burst, ms", "100", "400", "108", "4.00", "1.08", "0.27", "≤ 1.10 × floor", "reached"},
		{"slow, ms", "–", "20", "30", "–", "–", "1.50", "≤ upstream", "missed"},
		{"part, ms", "–", "5.00", "12", "–", "–", "2.40", "≤ 15", "reached"},
	} {
		var got []string
		for cell := range strings.SplitSeq(strings.Trim(lines[i], "|"), "|") {
			got = append(got, strings.TrimSpace(cell))
		}
		if strings.Join(got, ";") != strings.Join(want, ";") {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
