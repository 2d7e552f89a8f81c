package tui

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/tui/style"
)

// TestGoldenColors compares whole frames, with their escape sequences, in each theme.
func TestGoldenColors(t *testing.T) {
	for _, c := range []struct {
		name, theme string
		env         []string
		sizes       [][2]int
	}{
		{"dark", style.Dark, []string{"TERM=xterm-256color"}, sizes[:2]},
		{"light", style.Light, []string{"TERM=xterm-256color"}, sizes[1:2]},
		{"16", "", []string{"TERM=xterm"}, sizes[1:2]},
		{"none", "", []string{"TERM=xterm-256color", "NO_COLOR=1"}, sizes[:1]},
		{"ascii", "", []string{"TERM=vt220", "NO_COLOR=1"}, sizes[:1]},
	} {
		for view, keys := range map[string]string{"overview": "1", "pods": "3 j", "pod-slow": "1 j j j enter", "cri": "4", "node": "8", "starts": "r", "log": "9", "log-all": "9 a"} {
			for _, size := range c.sizes {
				name := fmt.Sprintf("%s-%s-%dx%d", view, c.name, size[0], size[1])
				bubble(t, name, func(t *testing.T) {
					d := drive(t, Config{Env: c.env, Theme: c.theme}, size[0], size[1]).play().keys(keys)
					colored(t, name, d.app.view())
				})
			}
		}
	}
}

// TestGoldenColorsMachine is TestGoldenColors for the view of resources, with the cursor on a refused pod, a claim and a container.
func TestGoldenColorsMachine(t *testing.T) {
	for _, c := range []struct {
		name, theme string
		env         []string
		size        [2]int
	}{
		{"dark", style.Dark, []string{"TERM=xterm-256color"}, sizes[0]},
		{"dark", style.Dark, []string{"TERM=xterm-256color"}, sizes[1]},
		{"light", style.Light, []string{"TERM=xterm-256color"}, sizes[1]},
		{"16", "", []string{"TERM=xterm"}, sizes[1]},
		{"none", "", []string{"TERM=xterm-256color", "NO_COLOR=1"}, sizes[0]},
		{"ascii", "", []string{"TERM=vt220", "NO_COLOR=1"}, sizes[0]},
	} {
		for view, show := range map[string]struct {
			play func(*driver) *driver
			keys string
		}{"resources": {(*driver).machine, "n m"}, "resources-owner": {(*driver).machine, "n m m m j j"}, "claims": {(*driver).claims, "n m j"}} {
			name := fmt.Sprintf("%s-%s-%dx%d", view, c.name, c.size[0], c.size[1])
			bubble(t, name, func(t *testing.T) {
				d := show.play(drive(t, Config{Env: c.env, Theme: c.theme}, c.size[0], c.size[1])).keys(show.keys)
				colored(t, name, d.app.view())
			})
		}
	}
}

// colored is golden for a frame with its escape sequences, which are written as text.
func colored(t *testing.T, name, frame string) {
	t.Helper()
	path := filepath.Join("testdata", "colors", name+".txt")
	got := strings.ReplaceAll(frame, "\x1b", `\e`) + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), go test -update writes it anew:\n%s", path, diff)
	}
}

// TestThemeFollowsTheTerminal: auto takes the background that the terminal reports, the others do not.
func TestThemeFollowsTheTerminal(t *testing.T) {
	for _, c := range []struct {
		theme  string
		ground color.Color
		dark   bool
	}{
		{"", color.White, false},
		{style.Auto, color.White, false},
		{style.Auto, color.Black, true},
		{style.Dark, color.White, true},
		{style.Light, color.Black, false},
	} {
		bubble(t, c.theme, func(t *testing.T) {
			d := drive(t, Config{Theme: c.theme}, 80, 24).play()
			if asks := d.app.askBackground() != nil; asks != (c.theme == "" || c.theme == style.Auto) {
				t.Errorf("theme %q asks for the background: %v", c.theme, asks)
			}
			d.send(tea.BackgroundColorMsg{Color: c.ground})
			if d.app.look.Theme.Dark() != c.dark {
				t.Errorf("theme %q on %v is dark: %v", c.theme, c.ground, d.app.look.Theme.Dark())
			}
		})
	}
}

func TestUnknownTheme(t *testing.T) {
	err := Run(t.Context(), Config{Source: none{}, Theme: "pink"})
	if err == nil || !strings.Contains(err.Error(), `theme "pink" is unknown: must be one of dark, light, auto`) {
		t.Errorf("got %v", err)
	}
}
