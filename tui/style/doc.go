// Package style is how kubeloupe's terminal UI writes things: a handful of
// tones, glyphs with an ASCII form, durations, sizes, bars and the cleaning of
// text that others wrote.
//
// It owns no state and never reads the environment: what a terminal can do is
// decided once, by For. It runs no goroutine and publishes no event.
package style
