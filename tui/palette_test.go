package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

// types types a text, letter by letter.
func (d *driver) types(text string) *driver {
	d.t.Helper()
	for _, r := range text {
		d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	d.settle()
	return d
}

func TestPalette(t *testing.T) {
	for _, c := range []struct {
		typed, keys string
		want, not   []string
	}{
		{typed: ":", want: []string{":", "overview", "view Overview", "1 of 30", "Tab completes  Enter runs  Esc closes"}},
		{typed: ":cri", keys: "enter", want: []string{"▶4 CRI"}, not: []string{"Esc closes"}},
		{typed: ":CRI", keys: "enter", want: []string{"▶4 CRI"}},
		{typed: ":vol", keys: "enter", want: []string{"▶v Volumes"}},
		{typed: ":pod", keys: "enter", want: []string{"▶6 Pod"}},
		{typed: ":pod shop/cart-7d4f-a1b", keys: "enter", want: []string{"▶6 Pod", "shop/cart-7d4f-a1b", "ready 4.24s"}},
		{typed: ":pod a1b", keys: "enter", want: []string{"▶6 Pod", "shop/cart-7d4f-a1b"}},
		{typed: ":a1b", keys: "enter", want: []string{"▶6 Pod", "shop/cart-7d4f-a1b"}},
		{typed: ":pod zzz", keys: "enter", want: []string{`pod "zzz" not found: none of the 32 known pods`}},
		{typed: ":pod shop/web", want: []string{"pod shop/web-00", "1 of 28"}},
		{typed: ":why shop/cart-7d4f-a1b", keys: "enter enter", want: []string{"▶6 Pod", "KL02"}},
		{typed: ":filter ns=shop", keys: "enter", want: []string{"filter: ns=shop"}},
		{typed: ":filter ~(", want: []string{"not a regular expression"}},
		{typed: ":filter", keys: "enter", want: []string{"─ filter ─", "Enter done"}},
		{typed: ":goto 12:03", keys: "enter", want: []string{`command "goto 12:03" not found`}}, // no replay
		{typed: ":vulomes", keys: "enter", want: []string{`command "vulomes" not found (did you mean volumes?)`}},
		{typed: ":qqqqqq", keys: "enter", want: []string{`command "qqqqqq" not found: none of the`}},
		{typed: ":theme pink", want: []string{`theme "pink" is unknown: must be one of dark, light, auto`}},
		{typed: ":copy x", want: []string{"copy takes no argument: remove x"}},
		{typed: ":th", keys: "tab", want: []string{":theme ", "theme dark", "theme light"}},
		{typed: ":theme", keys: "enter", want: []string{"theme dark"}}, // the argument is missing
		{typed: ":th", keys: "tab down tab", want: []string{":theme light"}},
		{typed: ":learn", keys: "enter 6", want: []string{"─ learn"}},
		{typed: ":help", keys: "enter", want: []string{"help: Overview"}},
		{typed: ":c", keys: "esc", want: []string{"▶1 Overview"}, not: []string{"Esc closes"}},
		{typed: ":export", keys: "ctrl+u", want: []string{"view Overview"}},
		{typed: ":expoxrt", keys: "left left backspace", want: []string{"write the screen"}},
		{typed: "/web", keys: "esc", not: []string{"filter:", "─ filter"}},
	} {
		bubble(t, strings.TrimSpace(c.typed+" "+c.keys), func(t *testing.T) {
			d := drive(t, Config{}, 80, 24).play().types(c.typed).keys(c.keys)
			d.want(c.want...)
			d.wantNot(c.not...)
			within(t, d.screen(), 80, 24)
		})
	}
}

// TestPaletteGoesToEveryView by its name.
func TestPaletteGoesToEveryView(t *testing.T) { synctest.Test(t, testPaletteGoesToEveryView) }

func testPaletteGoesToEveryView(t *testing.T) {
	d := drive(t, Config{}, 200, 50).play()
	for i, name := range ViewNames() {
		d.types(":" + name).keys("enter")
		if d.app.active != i || d.app.float != nil {
			t.Errorf(":%s went to %s", name, d.app.top().Name())
		}
	}
}

func TestPaletteTheme(t *testing.T) { synctest.Test(t, testPaletteTheme) }

func testPaletteTheme(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play()
	for _, name := range []string{style.Light, style.Dark, style.Light} {
		d.types(":theme " + name).keys("enter")
		if d.app.look.Theme.Dark() != (name == style.Dark) {
			t.Errorf("after :theme %s the theme is dark: %v", name, d.app.look.Theme.Dark())
		}
	}
}

// TestPaletteOfASession: in the Step view, the commands of the session come first.
func TestPaletteOfASession(t *testing.T) { synctest.Test(t, testPaletteOfASession) }

func testPaletteOfASession(t *testing.T) {
	steps := tuitest.NewSteps()
	d := drive(t, Config{Stepper: steps}, 80, 24)
	d.run(d.app.step.Listen(t.Context()))
	d.types(":").want("next", "run this action", "until", "breakpoint")
	d.types("where").keys("enter")
	d.types(":b start cart").keys("enter").want("stops before start cart")
	d.types(":until").keys("enter").want(":until ") // it needs an argument
	d.types("ready").keys("enter")
	d.types(":!true x")
	d.keys("esc")
	d.types(":cri").keys("enter").want("▶4 CRI")
	d.types(":break x").want(`command "break x" not found`) // it is the Step view's
	d.keys("esc 7")
	d.types(":quit").keys("enter")
	if got, want := strings.Join(steps.Asked, "|"), "where|b start cart|until ready|quit"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestGoldenPalette(t *testing.T) {
	for _, c := range []struct{ name, typed string }{{"palette", ":"}, {"palette-pod", ":pod shop/c"}, {"palette-unknown", ":vulomes"}} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := drive(t, Config{}, size[0], size[1]).play().keys("3").types(c.typed)
				golden(t, name, d.screen())
				within(t, d.screen(), size[0], size[1])
				colored(t, name, d.app.view())
			})
		}
	}
}
