package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	filmColumns, filmRows = 110, 32
	// frameTime is how long a frame stays; frames is how many there are of the replay.
	frameTime = 400 * time.Millisecond
	frames    = 20
)

// scenes are the keys after the replay, and for how many frames what they show stays.
var scenes = []struct {
	key   string
	stays int
}{{"3", 4}, {"g", 3}, {"Enter", 8}, {"w", 9}}

// film plays a recording and finds out why a pod does not start, as a moving picture.
func film(ctx context.Context, bin string, to *album) (err error) {
	t, err := startSized(ctx, filmColumns, filmRows, bin, "replay", recorded(standalone), "--theme", "dark", "--speed", "9")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.press(ctx, "q"), t.close()) }()
	if _, err := t.await(ctx, "Overview"); err != nil {
		return err
	}
	var screens []string
	take := func(stays int) error {
		screen, err := t.capture(ctx)
		for range stays {
			screens = append(screens, screen)
		}
		return err
	}
	tick := time.NewTicker(frameTime)
	defer tick.Stop()
	for range frames {
		if err := take(1); err != nil {
			return err
		}
		<-tick.C
	}
	for _, s := range scenes {
		if err := errors.Join(t.press(ctx, s.key), take(s.stays)); err != nil {
			return err
		}
	}
	return to.write("film", []byte(moving(screens, "A recording is replayed; then why a pod does not start, in three keys")))
}

// moving draws screens one after the other, again and again. A line that stays is drawn once.
func moving(screens []string, title string) string {
	var b strings.Builder
	open(&b, title, filmColumns, filmRows, dark)
	parsed := make([][][]cell, len(screens))
	for i, screen := range screens {
		var s style
		parsed[i] = make([][]cell, filmRows)
		for y, line := range strings.SplitN(strings.TrimRight(screen, "\n"), "\n", filmRows) {
			parsed[i][y], s = parse(line, s)
		}
	}
	n, whole := len(screens), time.Duration(len(screens))*frameTime
	for y := range filmRows {
		for from := 0; from < n; {
			to := from + 1
			for to < n && same(parsed[from][y], parsed[to][y]) {
				to++
			}
			fmt.Fprintf(&b, `<g visibility="hidden"><animate attributeName="visibility" dur="%.1fs" repeatCount="indefinite" calcMode="discrete" %s/>`+"\n",
				whole.Seconds(), shown(from, to, n))
			draw(&b, parsed[from][y], y, dark)
			b.WriteString("</g>\n")
			from = to
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// shown are the times of an animation that is to be seen in the frames from one on, before another, of n.
func shown(from, to, n int) string {
	values, times := []string{}, []string{}
	add := func(at int, value string) {
		values, times = append(values, value), append(times, fmt.Sprintf("%.4f", float64(at)/float64(n)))
	}
	if from > 0 {
		add(0, "hidden")
	}
	add(from, "visible")
	if to < n {
		add(to, "hidden")
	}
	return fmt.Sprintf(`values="%s" keyTimes="%s"`, strings.Join(values, ";"), strings.Join(times, ";"))
}

func same(a, b []cell) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
