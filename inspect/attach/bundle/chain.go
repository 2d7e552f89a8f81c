package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/containerdlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
)

// chain is one log, in as many files as it was rotated into. It may be a kubelet's, a runtime's, or a journal of both.
type chain struct {
	from  *Source
	files []file // that are not read yet
	zone  *time.Location
	open  io.Closer
	log   *logfile.Reader
	name  string

	kubelet          *kubeletlog.Fold
	runtime          *containerdlog.Fold
	kubelets, others *merge.Input
	at               int64 // how far it is read
	stats            logfile.Stats
	done             bool
}

// silent is how far behind what is read a record comes at most, of a log of which nothing was read yet.
const silent = containerdlog.DefaultHold + 2*time.Second

// newChain returns a log's files as records; nil where there are too many.
func newChain(s *Source, files []file, zone *time.Location) *chain {
	c := &chain{from: s, files: files, zone: zone, kubelet: kubeletlog.NewFold(), runtime: containerdlog.NewFold(containerdlog.Options{})}
	if s.made != nil {
		for _, of := range s.made.specs {
			c.kubelet.Know(of.pod, of.spec)
		}
	}
	if c.kubelets = s.merge.Input(); c.kubelets == nil {
		return nil
	}
	if c.others = s.merge.Input(); c.others == nil {
		c.kubelets.Close()
		return nil
	}
	return c
}

// step reads one entry.
func (c *chain) step() error {
	if c.log == nil {
		return c.next()
	}
	it, err := c.log.Next()
	if errors.Is(err, io.EOF) {
		return c.next()
	}
	if err != nil {
		return c.broken(err)
	}
	c.kubelet.Lost(it.Lost)
	if it.Lost > 0 {
		c.runtime.Lost(it.Lost)
	}
	if !it.Entry.Time.IsZero() {
		c.kubelet.Apply(&it.Entry)
		c.at = max(c.at, it.Entry.Time.UnixNano())
	}
	c.hand(false)
	return nil
}

// line takes a line of the container runtime in.
func (c *chain) line(text string) bool {
	l, ok := containerdlog.ParseLine(text)
	if ok {
		c.runtime.Apply(&l)
		c.at = max(c.at, l.Time.UnixNano())
		c.hand(false)
	}
	return ok
}

// hand passes on the records that are due.
func (c *chain) hand(all bool) {
	for {
		r, lost, ok := c.kubelet.Next(all)
		if !ok {
			break
		}
		c.kubelets.Lost(lost)
		c.kubelets.Put(r)
	}
	for {
		r, lost, ok := c.runtime.Next(all)
		if !ok {
			break
		}
		c.others.Lost(lost)
		c.others.Put(r)
	}
	for _, in := range []struct {
		in    *merge.Input
		until int64
	}{{c.kubelets, c.kubelet.Due()}, {c.others, c.runtime.Due()}} {
		if in.until > 0 {
			in.in.Until(in.until)
		} else {
			in.in.Until(c.at - int64(silent))
		}
	}
	if all {
		c.kubelets.Lost(c.kubelet.Gaps() + c.runtime.Gaps())
	}
}

// next goes on with the next file; after the last, the log is at its end.
func (c *chain) next() error {
	if err := c.close(); err != nil {
		return err
	}
	if len(c.files) == 0 {
		c.kubelet.Flush()
		c.runtime.Flush()
		c.hand(true)
		c.kubelets.Close()
		c.others.Close()
		c.done, c.at = true, math.MaxInt64
		return nil
	}
	f := c.files[0]
	c.files, c.name = c.files[1:], f.name
	r, err := f.open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	c.open = r
	if c.log, err = logfile.NewReader(r, logfile.Options{Zone: c.zone, Latest: f.mod, Runtime: c.line}); err != nil {
		return c.broken(err)
	}
	return nil
}

// broken is a file that cannot be read to its end, such as a compressed one that was cut. Where there are others, the rest is missing.
func (c *chain) broken(err error) error {
	err = fmt.Errorf("%s: %w", c.name, err)
	alone := len(c.from.logs) == 1 && len(c.files) == 0 && c.from.given == nil
	if alone || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	c.from.told.Notes = append(c.from.told.Notes, err.Error()+"; the rest of it is missing")
	c.kubelet.Lost(1)
	c.runtime.Lost(1)
	return c.next()
}

func (c *chain) position() (int64, bool) { return c.at, c.done }

func (c *chain) close() (err error) {
	if c.log != nil {
		c.stats = c.total()
		c.log = nil
	}
	if c.open != nil {
		err = c.open.Close()
		c.open = nil
	}
	return err
}

// total is what was read of all files so far.
func (c *chain) total() logfile.Stats {
	t := c.stats
	if c.log != nil {
		s := c.log.Stats()
		t.Entries, t.Lost, t.Cut, t.Other, t.Runtime = t.Entries+s.Entries, t.Lost+s.Lost, t.Cut+s.Cut, t.Other+s.Other, t.Runtime+s.Runtime
	}
	return t
}
