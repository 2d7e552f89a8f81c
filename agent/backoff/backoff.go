// Package backoff computes the pauses between attempts, in the form of apimachinery's wait.Backoff.
//
// It owns their growth and jitter. The caller sets the first and the last pause, decides when to start again, and
// waits. It runs no goroutine and publishes nothing.
package backoff

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Doubling returns pauses that double from the first to the last, which then repeats. Each Step returns one.
func Doubling(first, last time.Duration) wait.Backoff {
	return wait.Backoff{Duration: first, Factor: 2, Steps: math.MaxInt, Cap: last}
}

// Spread is Doubling with random pauses between half and all of that, so that nodes do not retry at the same time.
func Spread(first, last time.Duration) wait.Backoff {
	b := Doubling(first/2, last/2)
	b.Jitter = 1
	return b
}

// Jittered is Doubling with pauses that are longer by a random share of up to jitter: 0.2 is a fifth.
func Jittered(first, last time.Duration, jitter float64) wait.Backoff {
	b := Doubling(first, last)
	b.Jitter = jitter
	return b
}

// After returns the pause after a failed attempt, when failed ones came before it. It is for callers that count
// attempts.
func After(b wait.Backoff, failed int) time.Duration {
	for range failed {
		if b.Steps == 0 { // the last pause repeats
			break
		}
		b.Step()
	}
	return b.Step()
}
