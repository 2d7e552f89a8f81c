package replay

import (
	"math"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// MinSpeed and MaxSpeed bound the speed, but for Max.
	MinSpeed = 0.1
	// MaxSpeed is the other bound.
	MaxSpeed = 1000
	// Max is the speed at which nothing is waited for.
	Max = 1e6
	// MaxGap is how long nothing happens at most, in the recording's time, unless in real time.
	MaxGap = 2 * time.Second
)

// Mark is a place to jump to.
type Mark struct {
	Time  time.Time `json:"time"`
	Label string    `json:"label"`
}

// Config says how to play. The zero value plays from the beginning at the recorded speed.
type Config struct {
	// Speed is how many times faster than it happened; 0 is 1.
	Speed float64
	// Paused begins with a pause.
	Paused bool
	// RealTime does not shorten pauses without events.
	RealTime bool
	// Once makes Next return io.EOF after the last record. Otherwise it waits there for a
	// jump back.
	Once bool
	// Marks are places to jump to, in any order.
	Marks []Mark
	// Line says which records StepLine stops after; nil: all.
	Line func(*trace.Record) bool
}

// State is where a replay is.
type State struct {
	Playing bool    `json:"playing"`
	Speed   float64 `json:"speed"`
	// At is the replay's clock; First and Last are the ends of the recording. For a stream, Last is the end of the part that was
	// read.
	At    time.Time `json:"at"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	AtEnd bool      `json:"at_end,omitempty"`
	// Records were delivered, of Of in the session; Of is 0 while unknown.
	Records uint64 `json:"records"`
	Of      uint64 `json:"of,omitempty"`
	// Seq is the number of the last record that was delivered.
	Seq uint64 `json:"seq,omitempty"`
	// Jumping says that it is on its way to a place.
	Jumping bool `json:"jumping,omitempty"`
	// Skipped is how much of the current pause will be skipped.
	Skipped time.Duration `json:"skipped_ns,omitempty"`
	// Shortened is the total time that was skipped, since the beginning or the last rewind.
	Shortened time.Duration `json:"shortened_ns,omitempty"`
	// Session is the index of the recorder's run, of Sessions.
	Session  int `json:"session,omitempty"`
	Sessions int `json:"sessions,omitempty"`
	// Mark is the label of the mark that was passed last.
	Mark string `json:"mark,omitempty"`
	// CanRewind is false for a stream, which is only played forward.
	CanRewind bool `json:"can_rewind"`
	// Err is why it cannot continue.
	Err string `json:"err,omitempty"`
}

// speedOf brings a speed into its bounds.
func speedOf(s float64) float64 {
	switch {
	case s >= Max:
		return Max
	case s == 0 || math.IsNaN(s):
		return 1
	}
	return min(max(s, MinSpeed), MaxSpeed)
}
