// Package learn explains the phases of a pod's life to beginners: a few short sentences each, and links.
//
// It owns these texts and the mapping from phases to texts. It knows nothing of screens, reads no clock, runs no goroutine and
// publishes nothing.
package learn
