package recording

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// flushEvery is the maximum time until a record is written.
const flushEvery = time.Second

// ErrClosed is returned by a writer that was closed.
var ErrClosed = errors.New("recording is closed")

// Writer writes one session of a recording. Safe for concurrent use.
type Writer struct {
	path  string
	opt   Options
	began int64 // earlier records are marked as such
	make  func(path string) (*file, error)

	trouble teller
	waiting atomic.Int64 // records that are neither written nor counted as lost yet
	gaveUp  atomic.Bool  // Run has waited long enough for the disk

	mu      turn
	file    *file
	header  Header // of the file
	packer  *packer
	written Count  // in the file, without repeated records
	untold  bool   // the part lacks the backlog
	lost    uint64 // to be reported with the next record
	timer   *time.Timer
	armed   bool  // the timer runs
	failed  error // of a write by the timer
	closed  bool
}

// Write adds records; lost is the number of missing ones before them. Records are written when they fill a frame, or
// within a second. An error means that some could not be written, which count as lost; the writer can still be used.
func (w *Writer) Write(recs []trace.Record, lost uint64) error {
	w.waiting.Add(int64(len(recs)))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		w.waiting.Add(-int64(len(recs)))
		return ErrClosed
	}
	err := w.failed
	w.failed = nil
	w.lost += lost
	for i := range recs {
		err = errors.Join(err, w.add(&recs[i]))
	}
	w.arm()
	return w.named(err)
}

func (w *Writer) add(r *trace.Record) (err error) {
	var flags byte
	if r.Time < w.began {
		flags = flagEarlier
	}
	if !w.packer.empty() && w.packer.flags != flags {
		err = w.seal()
	}
	w.pack(r)
	w.packer.flags = flags
	if w.packer.full() {
		err = errors.Join(err, w.seal())
	}
	return err
}

// pack encodes a record. If it is too long, its bodies are omitted, or it is lost.
func (w *Writer) pack(r *trace.Record) {
	if w.opt.NoBodies {
		r = withoutBodies(r)
	}
	if w.packer.add(r, w.lost) != nil && w.packer.add(withoutBodies(r), w.lost) != nil {
		w.lost++
		w.waiting.Add(-1)
		return
	}
	w.lost = 0
}

// seal writes the collected records.
func (w *Writer) seal() error {
	if w.packer.empty() {
		return nil
	}
	frame, h := w.packer.seal()
	stop := w.trouble.watch(fmt.Errorf("write %s: %w", w.path, errSilent))
	err := w.put(frame)
	stop()
	w.waiting.Add(-int64(h.records))
	if err != nil {
		w.lost += uint64(h.records) + h.lost
		w.trouble.failed(err)
		return err
	}
	w.trouble.wrote(h.lost)
	w.written.Records += uint64(h.records)
	w.written.Lost += h.lost
	return nil
}

// put writes a frame, to a new part if this one is full.
func (w *Writer) put(frame []byte) error {
	half := w.opt.MaxBytes / 2
	if w.file.size+int64(len(frame)) > half && w.written != (Count{}) {
		if err := w.rotate(true); err != nil {
			return err
		}
		w.untold = true
	}
	if w.untold {
		if err := w.repeat(half); err != nil {
			return err
		}
		w.untold = false
	}
	if room := half - w.file.size; int64(len(frame)) > room {
		return fmt.Errorf("%d bytes at once: more than a part has room for", len(frame))
	}
	return w.file.put(frame)
}

// repeat writes the current state of the node at the beginning of a part. It is omitted if it would need more than a
// quarter of the part.
func (w *Writer) repeat(half int64) error {
	if w.opt.Backlog == nil {
		return nil
	}
	p, err := newPacker()
	if err != nil {
		return err
	}
	var frames []byte
	for _, r := range w.opt.Backlog() {
		if w.opt.NoBodies {
			r = *withoutBodies(&r)
		}
		_ = p.add(&r, 0) // what cannot be encoded was not written before either
		if p.full() {
			frames = appendRepeat(frames, p)
		}
	}
	if !p.empty() {
		frames = appendRepeat(frames, p)
	}
	if int64(len(frames)) > half/4 {
		return nil
	}
	return w.file.put(frames)
}

func appendRepeat(dst []byte, p *packer) []byte {
	p.flags = flagEarlier | flagRepeat
	frame, _ := p.seal()
	return append(dst, frame...)
}

func (w *Writer) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("record to %s: %w", w.path, err)
}

// turn is a mutex that may be held as long as a disk does not respond; a channel, so that tests with simulated time see
// who waits for it.
type turn chan struct{}

func (t turn) Lock()   { t <- struct{}{} }
func (t turn) Unlock() { <-t }
