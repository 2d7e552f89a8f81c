package tui

import (
	"strings"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

func TestTabsFold(t *testing.T) { synctest.Test(t, testTabsFold) }

// testTabsFold: where there is no room for all views, those at the end are left out, never their names.
func testTabsFold(t *testing.T) {
	d := drive(t, Config{Stepper: tuitest.NewSteps()}, 80, 24)
	for _, c := range []struct {
		w      int
		active string
		want   string
	}{
		{160, "Loop", " 1 Overview ▶2 Loop  3 Pods  4 CRI  5 GC  6 Pod  7 Step  8 Node  9 Log  v Volumes  u Status  p Probes  o Sources  x Eviction  n Resources  r Starts   ? help"},
		{117, "Loop", " 1 Overview▶2 Loop 3 Pods 4 CRI 5 GC 6 Pod 7 Step 8 Node 9 Log v Volumes u Status p Probes o Sources : more ? help"},
		{80, "Loop", " 1 Overview▶2 Loop 3 Pods 4 CRI 5 GC 6 Pod 7 Step 8 Node 9 Log : more ? help"},
		{80, "Status", " 1 Overview 2 Loop 3 Pods 4 CRI 5 GC 6 Pod 7 Step▶u Status : more ? help"},
		{60, "Status", " 1 Overview 2 Loop 3 Pods 4 CRI▶u Status : more ? help"},
	} {
		active := 0
		for i, tab := range d.app.tabs {
			if tab.page.Name() == c.active {
				active = i
			}
		}
		line, places, more := tabLine(style.New(false), d.app.tabs, active, c.w)
		if got := sgr.ReplaceAllString(line, ""); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.want), " ") || fit.Width(got) > c.w {
			t.Errorf("%s in %d columns:\n%q, want\n%q", c.active, c.w, got, c.want)
		}
		if len(places) != len(d.app.tabs) || places[active].to <= places[active].from {
			t.Errorf("places %v", places)
		}
		if folded := strings.Contains(c.want, ": more"); folded != (more.to > more.from) {
			t.Errorf("in %d columns : more is at %v", c.w, more)
		}
	}
	x := strings.Index(d.line(": more"), ": more")
	d.send(tea.MouseClickMsg{X: fit.Width(d.line(": more")[:x]) + 1, Y: 1, Button: tea.MouseLeft})
	d.want("command, view or pod")
}

// TestClusterKeys presses every key and clicks everywhere in the views of a cluster's node, in several sizes.
func TestClusterKeys(t *testing.T) { synctest.Test(t, testClusterKeys) }

func testClusterKeys(t *testing.T) {
	for _, size := range [][2]int{{60, 16}, {80, 24}, {200, 50}} {
		for _, at := range []string{"v", "u", "p", "o", "x", "n", "r", "8"} {
			d := drive(t, Config{}, size[0], size[1]).cluster().keys(at)
			for _, b := range d.app.top().Keys() {
				for _, name := range b.Keys() {
					d.send(press(name))
					within(t, d.screen(), size[0], size[1])
				}
			}
			d.keys("esc " + at)
			for y := range size[1] {
				click(d, 5, y)
				within(t, d.screen(), size[0], size[1])
				d.keys("esc " + at)
			}
		}
	}
	d := drive(t, Config{}, 80, 24).cluster().keys("u")
	click(d, 5, bodyTop+5)
	d.want("shop/web-02  status")
}

// click clicks twice, which opens.
func click(d *driver, x, y int) {
	d.t.Helper()
	for range 2 {
		d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
		d.settle()
	}
}
