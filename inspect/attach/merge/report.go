package merge

import "time"

// Report says what was merged.
type Report struct {
	// Shared is how many spans and points several observers told of.
	Shared uint64
	// Disagreed is how many of them lie further apart than their observers' precision allows, Most how far at most, and What the
	// one that does.
	Disagreed uint64
	Most      time.Duration
	What      string
}
