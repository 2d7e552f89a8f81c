package keys

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
)

// Bind returns a binding: the text that help shows for the keys, what they do,
// and the keys.
func Bind(label, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(label, does))
}

// Of is Bind with the label that the keys make.
func Of(does string, keys ...string) key.Binding { return Bind(Label(keys), does, keys...) }

// Without returns a binding less the keys that others take; it has no keys when
// they take all.
func Without(b key.Binding, others []key.Binding) key.Binding {
	left := slices.DeleteFunc(slices.Clone(b.Keys()), func(k string) bool {
		return slices.ContainsFunc(others, func(o key.Binding) bool { return slices.Contains(o.Keys(), k) })
	})
	if len(left) == len(b.Keys()) {
		return b
	}
	return Of(b.Help().Desc, left...)
}

var names = map[string]string{
	"up": "↑", "down": "↓", "left": "←", "right": "→", "home": "Home", "end": "End", "pgup": "PgUp", "pgdown": "PgDn",
	"enter": "Enter", "esc": "Esc", "tab": "Tab", "shift+tab": "S-Tab", "space": "Space", "backspace": "Bksp",
}

// Label names keys as people do; digits in a row are written as 1-7.
func Label(keys []string) string {
	var out []string
	for i := 0; i < len(keys); i++ {
		n := run(keys[i:])
		if n > 2 {
			out = append(out, keys[i]+"-"+keys[i+n-1])
			i += n - 1
			continue
		}
		out = append(out, name(keys[i]))
	}
	return strings.Join(out, " ")
}

func name(k string) string {
	if n := names[k]; n != "" {
		return n
	}
	if rest, ok := strings.CutPrefix(k, "ctrl+"); ok {
		return "^" + strings.ToUpper(rest)
	}
	return k
}

// run is how many of the first keys are digits in a row.
func run(keys []string) int {
	n := 0
	for n < len(keys) && len(keys[n]) == 1 && keys[n][0] >= '0' && keys[n][0] <= '9' && (n == 0 || keys[n][0] == keys[n-1][0]+1) {
		n++
	}
	return n
}
