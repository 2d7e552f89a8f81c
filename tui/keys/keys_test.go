package keys

import (
	"testing"

	"charm.land/bubbles/v2/key"
)

func TestLabel(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string
	}{
		{[]string{"up", "k"}, "↑ k"},
		{[]string{"1", "2", "3", "4", "9", "v"}, "1-4 9 v"},
		{[]string{"1", "2"}, "1 2"},
		{[]string{"pgup", "ctrl+b"}, "PgUp ^B"},
		{nil, ""},
	} {
		if got := Label(c.keys); got != c.want {
			t.Errorf("Label(%q) = %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestWithout(t *testing.T) {
	m := New("1", "2", "3", "p")
	got := Without(m.Views, []key.Binding{Of("print", "p")})
	if got.Help().Key != "1-3" || got.Help().Desc != m.Views.Help().Desc {
		t.Errorf("got %q %q", got.Help().Key, got.Help().Desc)
	}
	if got := Without(m.Export, []key.Binding{Of("edit", "e")}); len(got.Keys()) != 0 {
		t.Errorf("keys left: %q", got.Keys())
	}
	if got := Without(m.Quit, nil); got.Help().Key != "q ^C" {
		t.Errorf("changed: %q", got.Help().Key)
	}
}

// TestNoKeyMeansTwoThings: of those that work at the same time.
func TestNoKeyMeansTwoThings(t *testing.T) {
	m := New("1", "v")
	seen := map[string]string{}
	all := append(append(m.Global(), m.Moving()...), m.Enter, m.Sort, m.Reverse, m.Follow)
	for _, b := range append(all, m.Replay.All()[1:]...) { // Pause takes the place of Freeze
		for _, k := range b.Keys() {
			if seen[k] != "" {
				t.Errorf("%s: %s and %s", k, seen[k], b.Help().Desc)
			}
			seen[k] = b.Help().Desc
		}
	}
}
