package recording

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// slowDisk is how long one write may take before it is told.
	slowDisk = 5 * time.Second
	// quiet is the least time between two troubles that are told, for a disk that is full now and then.
	quiet = 10 * time.Minute
)

// errSilent is for a disk, or a server of files, that does not answer.
var errSilent = errors.New("the disk does not respond")

// Trouble is notified when nothing can be written, and when that is finished.
type Trouble struct {
	// Err is why nothing can be written; nil once it is finished.
	Err error
	// Lost is how many records are missing at that place, known once it is finished.
	Lost uint64
}

// String is a line for people.
func (t Trouble) String() string {
	if t.Err != nil {
		return fmt.Sprintf("the recording is paused: %v; it resumes automatically", t.Err)
	}
	return "the recording has resumed; " + missing(t.Lost)
}

func missing(n uint64) string {
	switch n {
	case 0:
		return "no records are missing"
	case 1:
		return "1 record is missing"
	}
	return fmt.Sprintf("%d records are missing", n)
}

// teller tells each trouble once, and its end.
type teller struct {
	tell func(Trouble)

	mu   sync.Mutex
	bad  bool      // told, and not over
	hung bool      // a write was told while it continued; it may succeed, but others were lost meanwhile
	last time.Time // a trouble was told
}

func (t *teller) failed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bad || t.tell == nil || !t.last.IsZero() && time.Since(t.last) < quiet {
		return
	}
	t.bad, t.last = true, time.Now()
	t.tell(Trouble{Err: err})
}

// wrote says that a frame was written, in which so many records are told as lost.
func (t *teller) wrote(lost uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hung {
		t.hung = false
		return
	}
	if t.bad {
		t.bad = false
		t.tell(Trouble{Lost: lost})
	}
}

// watch tells of what takes too long, until stop is called.
func (t *teller) watch(err error) (stop func() bool) {
	return time.AfterFunc(slowDisk, func() {
		t.mu.Lock()
		t.hung = true
		t.mu.Unlock()
		t.failed(err)
	}).Stop
}
