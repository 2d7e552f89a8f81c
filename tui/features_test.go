package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/replay"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

func TestFollow(t *testing.T) { synctest.Test(t, testFollow) }

func testFollow(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play()
	for _, view := range []string{"2", "4", "5", "9", "9 a"} {
		d.keys(view).want("follow  LIVE")
		d.keys("j k k j").wantNot("follow  LIVE")
		d.keys("f").want("follow  LIVE", "following the newest row")
		row := selectedRow(d)
		d.keys("f").want("staying with this row")
		d.wantNot("follow  LIVE")
		d.app.apply([]chunk{{recs: more(t, 3)}})
		d.app.refresh()
		if got := selectedRow(d); got != row {
			t.Errorf("view %s: moved on from %q to %q", view, row, got)
		}
		d.keys("f").want("follow  LIVE")
	}
	d.keys("9 s").wantNot("follow  LIVE") // sorted, there is no newest row
	d.keys("f").want("follow  LIVE")
	d.keys("3 f").wantNot("follow")
}

func TestReverse(t *testing.T) { synctest.Test(t, testReverse) }

func testReverse(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("3 s g")
	d.want("POD▲", "jobs/flaky")
	d.keys("S").want("POD▼", "sorted by pod, reversed")
	d.keys("g")
	if got := selectedRow(d); !strings.Contains(got, "shop/web-27") {
		t.Errorf("first, reversed: %q", got)
	}
	d.keys("s").wantNot("▼", ", reversed") // the next column begins as it should
	d.keys("S S").wantNot(", reversed")
}

func TestChosenColumn(t *testing.T) { synctest.Test(t, testChosenColumn) }

// testChosenColumn: rows are sorted by the column that the arrows choose, and the heading shows the choice and the order.
func testChosenColumn(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("3 right").want2("▶POD")
	d.keys("right right right").want("▶RESTARTS", "s sorts by restarts")
	d.keys("s").want("RESTART▼", "sorted by restarts")
	d.wantNot("▶RESTARTS")
	if got := selectedRow(d); !strings.Contains(got, "jobs/flaky") {
		t.Errorf("most restarts: %q", got)
	}
	d.keys("S").want("RESTART▲")
	d.keys("left").want("▶READY")
	d.keys("left left left left left").want("▶POD") // the first one stays
	d.keys("s").want("POD▲")
	d.keys("s").want("STATE▲") // without a choice, the next one
	d = drive(t, Config{}, 80, 24).play().keys("3 left")
	d.want("▶FOR")
}

func TestTimes(t *testing.T) { synctest.Test(t, testTimes) }

func testTimes(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("9")
	d.want("09:28:03.000 BackOff")
	d.keys("T").want("5.0s ago     BackOff", "times: how long ago")
	d.keys("2").want("0.3s ago     sync") // remembered across views
	d.keys("T").want("+1:14.700    sync")
	d.keys("T").want("09:28:07.700 sync")
}

func TestCopy(t *testing.T) { synctest.Test(t, testCopy) }

func testCopy(t *testing.T) {
	for _, c := range []struct{ keys, want, say string }{
		{"3", "jobs/flaky  backing off  syncing  0/1  3  2  1  71ms  CrashLoopBackOff main: back-off 20s restarting failed container  5.0s", "copied the row, 123 characters"},
		{"5 enter", "image GC at 09:27:55.000", "copied the text"},
		{"1", "slowest starts", "copied the overview view"},
		{"2 / z z z z enter", "", "nothing to copy"},
	} {
		d := drive(t, Config{}, 80, 24).play().keys(c.keys)
		cmd := d.app.update(press("c"))
		got := ""
		if cmd != nil {
			got = fmt.Sprint(cmd())
		}
		if !strings.Contains(got, c.want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: copied %q, want %q", c.keys, got, c.want)
		}
		d.want(c.say)
	}
	d := drive(t, Config{Env: []string{"TERM=linux"}}, 80, 24).play()
	if cmd := d.app.update(press("c")); cmd != nil {
		t.Error("OSC 52 on a console that would print it")
	}
	d.want("this terminal has no clipboard")
	if got := head("äöü", 3); got != "ä" {
		t.Errorf("head: %q", got)
	}
}

func TestMouseIsOptional(t *testing.T) { synctest.Test(t, testMouseIsOptional) }

func testMouseIsOptional(t *testing.T) {
	for _, no := range []bool{false, true} {
		g := &guard{app: drive(t, Config{NoMouse: no}, 80, 24).play().app}
		for range 3 {
			if on := g.View().MouseMode != tea.MouseModeNone; on == no {
				t.Errorf("mouse %v, NoMouse %v", on, no)
			}
			g.app.update(press("M"))
			no = !no
		}
	}
}

func TestViewNames(t *testing.T) { synctest.Test(t, testViewNames) }

func testViewNames(t *testing.T) {
	for _, name := range ViewNames() {
		d := drive(t, Config{ViewName: name}, 120, 40).play()
		if got := viewName(d.app.top()); got != name {
			t.Errorf("view %q shows %q", name, got)
		}
	}
	err := Run(t.Context(), Config{Source: none{}, ViewName: "bogus"})
	if err == nil || !strings.Contains(err.Error(), `view "bogus" not found: must be one of overview, loop, pods`) {
		t.Errorf("Run: %v", err)
	}
}

func TestTabsScroll(t *testing.T) { synctest.Test(t, testTabsScroll) }

// testTabsScroll: of more tabs than there is room for, the first are drawn and the one shown.
func testTabsScroll(t *testing.T) {
	d := drive(t, Config{}, 80, 24)
	var tabs []tab
	for i := range 26 {
		tabs = append(tabs, tab{digit: string(rune('a' + i)), page: d.app.tabs[2].page})
	}
	for w := 16; w < 120; w++ {
		for active := range tabs {
			line, places, _ := tabLine(style.New(false), tabs, active, w)
			text := sgr.ReplaceAllString(line, "")
			if fit.Width(text) > w || !strings.Contains(text, "▶"+tabs[active].digit+" Pods") {
				t.Fatalf("%d of %d columns, tab %d: %q", fit.Width(text), w, active, text)
			}
			for i, p := range places {
				if p.to > w || p.from > p.to || p.from < p.to && !strings.Contains(text, tabs[i].digit) {
					t.Fatalf("place %v of tab %d in %q", p, i, text)
				}
			}
		}
	}
	line, _, more := tabLine(style.New(false), tabs, 13, 40)
	if got := sgr.ReplaceAllString(line, ""); !strings.Contains(got, "▶n Pods : more") || more.to <= more.from {
		t.Errorf("nothing says that there are more: %q", got)
	}
}

func TestHelpIsTheKeyMap(t *testing.T) { synctest.Test(t, testHelpIsTheKeyMap) }

// testHelpIsTheKeyMap: every key that is bound in a view stands in its help, and
// none that a page has taken for something else stands there twice.
func testHelpIsTheKeyMap(t *testing.T) {
	d := drive(t, Config{Stepper: tuitest.NewSteps(), Player: &player{}}, 100, 80)
	for _, tab := range d.app.tabs {
		d.keys(tab.digit)
		bound := append(tab.page.Keys(), d.app.look.Keys.Replay.All()...)
		d.keys("?")
		seen := map[string]int{}
		section := ""
		for l := range strings.Lines(plainScreen(d.app.top().View())) {
			if !strings.HasPrefix(l, "   ") {
				section = strings.TrimSpace(l)
			} else if section != "while typing" {
				for k := range strings.FieldsSeq(l[:min(len(l), 3+keyWidth)]) {
					seen[k]++
				}
			}
		}
		for _, b := range bound {
			for k := range strings.FieldsSeq(b.Help().Key) {
				if seen[k] != 1 {
					t.Errorf("%s: key %s is in the help %d times:\n%s", tab.page.Name(), k, seen[k], d.screen())
				}
			}
		}
		d.keys("esc")
	}
}

func TestEveryScreenSaysWhyItIsEmpty(t *testing.T) { synctest.Test(t, testEveryScreenSaysWhyItIsEmpty) }

func testEveryScreenSaysWhyItIsEmpty(t *testing.T) {
	d := drive(t, Config{}, 120, 40)
	each := func(what string) {
		t.Helper()
		for _, tab := range d.app.tabs {
			d.keys(tab.digit)
			if tab.page.Name() != "Step" && tab.page.Name() != "Status" {
				d.want(what)
			}
			body := strings.Join(strings.Split(d.screen(), "\n")[bodyTop:], "\n")
			if len(strings.Fields(body)) < 8 {
				t.Errorf("%s says nothing:\n%s", tab.page.Name(), body)
			}
		}
	}
	each("waiting for the first event")
	d.app.absorb(recsMsg{err: errors.New("connection refused")})
	d.now = d.now.Add(time.Hour)
	each("the stream of events broke: connection refused")
	d.app.absorb(recsMsg{err: io.EOF})
	each("the event stream has ended")
	d.send(tea.WindowSizeMsg{Width: 20, Height: 5})
	d.want("This terminal is", "needs 60x16 or more.", "q quits")
}

func TestLink(t *testing.T) { synctest.Test(t, testLink) }

// testLink: a connection that is lost is reported for as long as it is.
func testLink(t *testing.T) {
	link := ""
	d := drive(t, Config{Label: "ATTACHED", Link: func() string { return link }}, 80, 24).play()
	d.want("ATTACHED pid 4711")
	link = "connection lost: broken pipe; trying again in 2s (3rd time)"
	d.send(tickMsg{})
	d.want("CUT OFF", link)
	d.now = d.now.Add(time.Minute)
	d.want(link)
	link = ""
	d.want("ATTACHED pid 4711", "q quit")
}

// player is a replay in name only.
type player struct {
	state replay.State
	asked []string
}

func (p *player) State() replay.State { return p.state }

func (p *player) ask(format string, args ...any) {
	p.asked = append(p.asked, fmt.Sprintf(format, args...))
}

func (p *player) Pause(on bool)      { p.state.Playing = !on; p.ask("pause %v", on) }
func (p *player) Step(n int)         { p.ask("step %d", n) }
func (p *player) StepLine()          { p.ask("line") }
func (p *player) SetSpeed(s float64) { p.state.Speed = s; p.ask("speed %v", s) }
func (p *player) Seek(t time.Time)   { p.ask("seek %s", t.Format("15:04:05")) }

func (p *player) NextMark() (replay.Mark, bool) {
	p.ask("next mark")
	return replay.Mark{Time: tuitest.Epoch, Label: "KL05 image back-off of shop/web"}, true
}

func (p *player) PrevMark() (replay.Mark, bool) {
	p.ask("previous mark")
	return replay.Mark{}, false
}

func TestReplay(t *testing.T) { synctest.Test(t, testReplay) }

func testReplay(t *testing.T) {
	p := &player{state: replay.State{
		Playing: true, Speed: 4, First: tuitest.Epoch, At: tuitest.Epoch.Add(tuitest.Length), Last: tuitest.Epoch.Add(3 * tuitest.Length), Records: 1234, Of: 5000,
	}}
	d := drive(t, Config{Player: p}, 80, 24).play()
	d.want("REPLAY ▶ ×4  09:28:08 / 09:30:38")
	d.wantNot("LIVE")
	d.keys("space").want("PAUSED ×4", "09:28:08.000", "event 1,234 of 5,000")
	d.keys("space . , ; > < {").want("there is no earlier mark")
	d.keys("}").want("KL05 image back-off of shop/web")
	d.keys(": 9 : 2 9 enter : + 3 0 s enter : 5 0 % enter : - 1 h enter : 1 x").want("want a time as 12:03:04, +30s, -2m or 50%")
	d.keys("enter").want("want a time as") // it stays open
	d.keys("esc").wantNot("want a time as")
	d.types(":goto +30s").keys("enter")
	want := []string{
		"pause true", "pause false", "step 1", "step -1", "line", "speed 8", "speed 4", "previous mark", "next mark",
		"seek 09:29:00", "seek 09:28:38", "seek 09:28:45", "seek 09:26:53", "seek 09:28:38",
	}
	if !slices.Equal(p.asked, want) {
		t.Errorf("asked\n%q, want\n%q", p.asked, want)
	}
	p.state.AtEnd = true
	d.keys("?").want("AT ITS END", "of the replay", "pause or resume the replay")
	d.wantNot("freeze")
	for _, w := range []int{60, 120, 200} {
		d.send(tea.WindowSizeMsg{Width: w, Height: 24})
		d.want("AT ITS END ×4  09:28:08")
	}
	d.send(tea.WindowSizeMsg{Width: 120, Height: 24})
	golden(t, "replay-120x24", d.keys("esc 9").screen())
}

// again is an error that says that records begin again.
type again struct{ error }

func (again) Rewound() bool { return true }

// twice is a source that begins again once.
type twice struct {
	none
	err  error
	turn int
}

func (s *twice) Next(ctx context.Context, buf []trace.Record) ([]trace.Record, uint64, error) {
	s.turn++
	switch s.turn {
	case 1:
		return append(buf[:0], more2(100)...), 0, nil
	case 2:
		return nil, 0, s.err
	case 3:
		return append(buf[:0], more2(3)...), 0, nil
	}
	return s.none.Next(ctx, buf)
}

func more2(n int) []trace.Record { return tuitest.Session()[:n] }

func TestRewound(t *testing.T) {
	for _, err := range []error{replay.ErrRewound, fmt.Errorf("attach: %w", again{errors.New("connected anew")})} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := drive(t, Config{}, 80, 24)
			p := newPump(&twice{err: err})
			go p.run(ctx)
			for range 3 {
				synctest.Wait()
				if msg := p.take(); len(msg.chunks) > 0 || msg.rewound {
					d.app.absorb(msg)
				}
			}
			if n := d.app.model.Node().Records; n != 3 {
				t.Errorf("%d records after the beginning anew, want 3", n)
			}
			d.want("LIVE")
		})
	}
}
