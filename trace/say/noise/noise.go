// Package noise is a switch for tests. It turns each text that is rendered for people into noise, which proves that no code decides on
// one. Every function that renders a text returns it through Of.
//
// It owns that switch, which no command sets. It runs no goroutines and publishes nothing.
package noise

import "sync/atomic"

// Word replaces each text while the switch is on.
const Word = "noise"

var on atomic.Bool

// On sets the switch for the whole process. A test that sets it must not run in parallel with others, and must reset
// it.
func On(yes bool) { on.Store(yes) }

// Of returns a rendered text. While the switch is on, it returns Word for all but the empty text.
func Of(text string) string {
	if text != "" && on.Load() {
		return Word
	}
	return text
}
