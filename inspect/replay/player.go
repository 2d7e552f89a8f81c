package replay

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// ErrRewound is returned by Next once after a jump back, and when another session begins: the reader must start with an empty
// model.
var ErrRewound = errors.New("replay: begin anew")

// Player plays a recording. One goroutine reads it with Next; any goroutine can use the controls.
//
// Many fields: a player has a source, a clock, a position in the file and the state of its controls.
type Player struct {
	rd       *recording.Reader
	cfg      Config
	sessions []recording.Session
	wake     chan struct{} // something was changed for Next

	// Of Next's goroutine.
	scan  *recording.Scanner
	buf   []recording.Item
	items []recording.Item // read and not delivered
	ended bool             // the scan is
	fault error            // of the scan

	mu      sync.Mutex
	clk     clock
	playing bool
	began   bool // the clock has its first time
	first   bool // it begins with a pause: what was there before, and the first record, are delivered all the same
	jump    *jump
	restart bool          // read the session from its beginning
	dirty   bool          // something was delivered since the reader began
	steps   int           // records to deliver while paused
	line    bool          // deliver up to one worth a line
	quiet   int64         // since when nothing happens, by the replay's clock
	gap     time.Duration // what will be left out of that
	at      place
	atEnd   bool
	err     error
}

// place is what was delivered since the session began.
type place struct {
	session   int
	count     uint64
	seq       uint64
	last      int64 // time of the last record; 0 before the first
	shortened time.Duration
}

// jump delivers without pause.
type jump struct {
	over func(*recording.Item) bool // whether it continues over a record
	to   int64                      // what the clock shows afterwards; 0 is the last record's time
}

// readAhead is how many records are read at once.
const readAhead = 512

// NewPlayer returns a player at the beginning of a recording. The caller closes the recording.
func NewPlayer(rd *recording.Reader, cfg Config) *Player {
	cfg.Marks = slices.Clone(cfg.Marks)
	sorting.Stable(cfg.Marks, func(a, b *Mark) int { return a.Time.Compare(b.Time) })
	p := &Player{
		rd: rd, cfg: cfg, sessions: rd.Sessions(), wake: make(chan struct{}, 1),
		buf: make([]recording.Item, 0, readAhead), playing: !cfg.Paused, first: cfg.Paused, restart: true,
	}
	p.clk.speed = speedOf(cfg.Speed)
	if first := rd.Info().First; !first.IsZero() {
		p.clk.set(first.UnixNano())
	}
	return p
}

// Next waits for due records and appends them to buf[:0]; lost is the number of missing records before them. Records from before
// the beginning of the recording are due immediately. See also ErrRewound and Config.Once.
func (p *Player) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	if cap(buf) == 0 {
		buf = make([]trace.Record, 0, 64)
	}
	for {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		p.read()
		t := p.take(buf[:0])
		if len(t.recs) > 0 || t.err != nil {
			return t.recs, t.lost, t.err
		}
		if err := p.sleep(ctx, t.wait); err != nil {
			return nil, 0, err
		}
	}
}

// read makes sure that something is there to be delivered, unless the scan has ended.
func (p *Player) read() {
	if p.scan == nil || p.ended || len(p.items) > 0 {
		return
	}
	items, err := p.scan.Next(p.buf)
	p.items = items
	if err != nil {
		p.ended = true
		if !errors.Is(err, io.EOF) {
			p.fault = err
		}
	}
}

// open begins to read the session that is at.
func (p *Player) open() {
	p.restart, p.ended, p.fault, p.items = false, false, nil, nil
	if p.scan, p.fault = p.rd.Scan(p.at.session); p.fault != nil {
		p.ended = true
	}
}

// sleep waits until something is due or was changed; forever where wait is negative.
func (p *Player) sleep(ctx context.Context, wait time.Duration) error {
	var due <-chan time.Time
	if wait >= 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-due:
	case <-p.wake:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Now is the replay's clock.
func (p *Player) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Unix(0, p.clk.now())
}

// Marks returns the places to jump to, in order of time.
func (p *Player) Marks() []Mark { return slices.Clone(p.cfg.Marks) }

// State returns where the replay is.
func (p *Player) State() State {
	info := p.rd.Info()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{
		Playing: p.playing, Speed: p.clk.speed, At: time.Unix(0, p.clk.now()), First: info.First, Last: info.Last, AtEnd: p.atEnd,
		Records: p.at.count, Seq: p.at.seq, Jumping: p.jump != nil, Skipped: p.gap, Shortened: p.at.shortened,
		Session: p.at.session, Sessions: info.Sessions, CanRewind: !info.Stream,
	}
	if p.at.session < len(p.sessions) {
		s.Of = p.sessions[p.at.session].Records
	}
	if p.err != nil {
		s.Err = p.err.Error()
	}
	if i := p.passed(p.clk.now() + 1); i > 0 {
		s.Mark = p.cfg.Marks[i-1].Label
	}
	return s
}

// passed is how many marks are before a time.
func (p *Player) passed(t int64) int {
	n, _ := slices.BinarySearchFunc(p.cfg.Marks, t, func(m Mark, t int64) int { return cmp.Compare(m.Time.UnixNano(), t) })
	return n
}
