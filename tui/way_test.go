package tui

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"
)

// TestCrumbs: the last line begins with the way to the page.
func TestCrumbs(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"3", ""},
		{"6", ""}, // its title says which pod
		{"3 G enter", " Pods › shop/cart-7d4f-a1b  "},
		{"3 G enter : w h y enter enter", " Pods › shop/cart-7d4f-a1b › cause  "},
		{"3 G enter : w h y enter enter esc", " Pods › shop/cart-7d4f-a1b  "},
		{"3 G enter esc", ""},
		{"6 : w h y enter enter", " Pod › shop/cart-7d4f-x2z › cause  "},
		{"3 G enter 6", ""}, // by its key: Pods is no place to go back to
		{"4 G enter", " CRI › RunPodSandbox  "},
		{"4 ?", " CRI › Help  "},
		{"1 G enter", " Overview › CRI  "},
	} {
		for _, w := range []int{120, 200} {
			bubble(t, c.keys, func(t *testing.T) {
				d := drive(t, Config{}, w, 40).play().keys(c.keys)
				lines := strings.Split(strings.TrimSuffix(d.screen(), "\n"), "\n")
				last := lines[len(lines)-1]
				if c.want != "" && !strings.HasPrefix(last, c.want) || c.want == "" && strings.Contains(last, "›") {
					t.Errorf("%s in %d columns: the last line is %q, want %q first", c.keys, w, last, c.want)
				}
				within(t, d.screen(), w, 40)
			})
		}
	}
}

// TestCrumbsInLittleRoom: where the way has no room, its beginning is left out.
func TestCrumbsInLittleRoom(t *testing.T) { synctest.Test(t, testCrumbsInLittleRoom) }

func testCrumbsInLittleRoom(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("3 G enter : w h y enter enter")
	d.want(" … › shop/cart-7d4f-a1b › cause  ")
	for w := minWidth; w < 120; w++ {
		d.send(tea.WindowSizeMsg{Width: w, Height: 24})
		d.want("› cause  ")
		within(t, d.screen(), w, 24)
	}
}

// TestUnknownKeysSaySo for a moment, in every view.
func TestUnknownKeysSaySo(t *testing.T) { synctest.Test(t, testUnknownKeysSaySo) }

func testUnknownKeysSaySo(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play()
	for _, tab := range d.app.tabs {
		d.keys(tab.digit + " Z").want("no key Z here: ? lists all keys, : all commands")
		d.now = d.now.Add(sayFor / 2)
		d.wantNot("no key Z")
	}
	d.keys("1 0").want("no key 0 here")
	d.keys("ctrl+z").want("no key ^Z here")
	d.send(tea.KeyPressMsg{Code: '\u202e', Text: "\u202e"})
	d.want("no key ? here")
}

func TestHelpListsTheViews(t *testing.T) { synctest.Test(t, testHelpListsTheViews) }

func testHelpListsTheViews(t *testing.T) {
	d := drive(t, Config{}, 80, 60).play().keys("3 ?")
	for _, tab := range d.app.tabs {
		d.want(tab.digit + " " + tab.page.Name())
	}
}

// TestLeavingAsks where an agent ends with the UI.
func TestLeavingAsks(t *testing.T) { synctest.Test(t, testLeavingAsks) }

func testLeavingAsks(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}, {50, 10}} {
		for _, c := range []struct {
			keys string
			ends bool
		}{
			{"q y", true}, {"ctrl+c ctrl+c", true}, {"q ctrl+c", true}, {"q n", false}, {"q esc", false}, {"q q", false}, {"q enter", false},
		} {
			d := drive(t, Config{Leaving: "The agent stops. Its pods continue to run."}, size[0], size[1]).play()
			first, second, _ := strings.Cut(c.keys, " ")
			if cmd := d.app.update(press(first)); cmd != nil {
				t.Errorf("%s: the first key leaves", c.keys)
			}
			d.want("stop the agent?", "y ^C stop it", "n Esc stay")
			if size[0] >= minWidth {
				d.want("Its pods continue to run.")
			}
			cmd := d.app.update(press(second))
			if ends := cmd != nil && cmd() == tea.Msg(tea.QuitMsg{}); ends != c.ends {
				t.Errorf("%s ends: %v, want %v", c.keys, ends, c.ends)
			}
		}
	}
	d := drive(t, Config{Leaving: "The agent stops."}, 80, 24).play()
	d.app.absorb(recsMsg{err: io.EOF})
	if cmd := d.app.update(press("q")); cmd == nil {
		t.Error("an agent that has ended is asked about")
	}
}
