package hue

import "testing"

// TestColors compares with xterm's table.
func TestColors(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Image.CSS(true), "#af87ff"},
		{Image.CSS(false), "#8700d7"},
		{Volumes.CSS(true), "#00afaf"},
		{Wait.CSS(true), "#808080"},
		{Hue{Dark: "3"}.CSS(true), ""},
		{Hue{}.CSS(false), ""},
		{Image.SGR(), "\x1b[35m"},
		{Fail.SGR(), "\x1b[91m"},
		{Status.SGR(), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestApart requires that no two colors are the same on a background.
func TestApart(t *testing.T) {
	for _, dark := range []bool{true, false} {
		seen := map[string]bool{}
		for _, h := range []Hue{Volumes, Sandbox, Network, Image, Create, Probe, Status, Wait, Slow, Fail} {
			css := h.CSS(dark)
			if css == "" || seen[css] {
				t.Errorf("dark %v: %v is %q, which another one is too, or none", dark, h, css)
			}
			seen[css] = true
		}
	}
}
