package recording

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// slowDisk is how long one write may take before this is reported.
	slowDisk = 5 * time.Second
	// quiet is the minimum time between two reports, for a disk that is full repeatedly.
	quiet = 10 * time.Minute
)

// errSilent is the error for a disk, or a file server, that does not respond.
var errSilent = errors.New("the disk does not respond")

// Trouble reports that nothing can be written, or that writing works again.
type Trouble struct {
	// Err is why nothing can be written; nil when writing works again.
	Err error
	// Lost is how many records are missing, known when writing works again.
	Lost uint64
}

// String returns a line for people.
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

// teller reports each trouble once, and its end.
type teller struct {
	tell func(Trouble)

	mu   sync.Mutex
	bad  bool      // reported, and not ended
	hung bool      // a slow write was reported; it may succeed, but others were lost meanwhile
	last time.Time // the time of the last report
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

// wrote records that a frame was written, which has that many records as lost.
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

// watch reports a slow operation, until stop is called.
func (t *teller) watch(err error) (stop func() bool) {
	return time.AfterFunc(slowDisk, func() {
		t.mu.Lock()
		t.hung = true
		t.mu.Unlock()
		t.failed(err)
	}).Stop
}
