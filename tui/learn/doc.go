// Package learn says what the phases of a pod's life are, for people who see them for the first time: two sentences
// each, and what to read.
//
// It owns these texts and which of them belongs to what is on the screen. It knows nothing of screens, reads no clock,
// runs no goroutine and publishes nothing.
package learn
