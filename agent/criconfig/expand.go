package criconfig

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// maxText limits the total size of a container's environment, command and arguments, in bytes. Linux does not start a
// program with more than 6 MiB of them, and a few lines of a manifest (A=x, B=$(A)$(A), C=$(B)$(B), ...) need more than
// any memory has. Upstream has no limit.
const maxText = 8 << 20

// maxSubPath limits a path below a volume: the kernel accepts no longer path.
const maxSubPath = 4096

// expander replaces references within a budget: authors of pods choose how often a text is repeated.
type expander struct {
	// lookup returns a variable's value, and whether it exists.
	lookup func(name string) (string, bool)
	// left is how many more bytes the results may have.
	left int
}

// tooLongError is the error for text that exceeds the budget.
type tooLongError struct{ limit int }

func (e tooLongError) Error() string {
	if e.limit >= 1<<20 {
		return fmt.Sprintf("with this, environment, command and arguments are longer than %d MiB: no program can be started with that", e.limit>>20)
	}
	return fmt.Sprintf("is longer than %d bytes", e.limit)
}

// take subtracts n from the budget, and reports whether it had that much.
func (e *expander) take(n int) bool {
	e.left -= n
	return e.left >= 0
}

// expand replaces each $(NAME) by lookup's value. $$ is a literal dollar sign, so that $$(NAME) stays $(NAME). A name
// that lookup does not know, and a $ before anything else, stay as written. It is false if the result exceeds the
// budget.
//
// Upstream: third_party/forked/golang/expansion/expand.go, Expand.
func (e *expander) expand(text string) (string, bool) {
	var b strings.Builder
	write := func(parts ...string) {
		for _, s := range parts {
			if e.take(len(s)) {
				b.WriteString(s)
			}
		}
	}
	for e.left >= 0 {
		before, rest, found := strings.Cut(text, "$")
		if !found {
			write(text)
			break
		}
		write(before)
		if after, ok := strings.CutPrefix(rest, "$"); ok {
			write("$")
			text = after
			continue
		}
		inner, ok := strings.CutPrefix(rest, "(")
		if !ok {
			write("$")
			text = rest
			continue
		}
		name, after, closed := strings.Cut(inner, ")")
		if !closed { // then no later one is closed either, and only $$ is replaced
			write(strings.ReplaceAll("$"+rest, "$$", "$"))
			break
		}
		if value, ok := e.lookup(name); ok {
			write(value)
		} else {
			write("$(", name, ")")
		}
		text = after
	}
	return b.String(), e.left >= 0
}

// expandShown expands a text of at most left bytes, and again in its redacted form: shown is "" if it contains no
// secret. It is false if the text is longer.
func expandShown(text string, left int, lookup func(name string) (Var, bool)) (value, shown string, ok bool) {
	secret := false
	e := expander{left: left, lookup: func(name string) (string, bool) {
		v, ok := lookup(name)
		secret = secret || v.Shown != ""
		return v.Value, ok
	}}
	value, ok = e.expand(text)
	if !secret || !ok {
		return value, "", ok
	}
	return value, showing(lookup).show(text), true
}

// showing returns an expander for redacted texts.
func showing(lookup func(name string) (Var, bool)) *expander {
	return &expander{left: maxText, lookup: func(name string) (string, bool) {
		v, ok := lookup(name)
		return v.shown(), ok
	}}
}

// show expands a text in its redacted form; if the result exceeds the budget, it is completely redacted.
func (e *expander) show(text string) string {
	if shown, ok := e.expand(text); ok {
		return shown
	}
	return redact.Mark
}

// expandAll expands each text. If one exceeds the budget, tooLong is its index.
func (e *expander) expandAll(list []string) (out []string, tooLong int, ok bool) {
	if len(list) == 0 {
		return nil, 0, true
	}
	out = make([]string, len(list))
	for i, text := range list {
		if out[i], ok = e.expand(text); !ok {
			return nil, i, false
		}
	}
	return out, 0, true
}
