package logfile

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
)

const (
	// maxLine bounds a line; what is longer is cut.
	maxLine = 1 << 20
	// maxTotal bounds what is read of one log, decompressed.
	maxTotal = 64 << 30
	// buffer is how much is read at a time, and looked at to know the format.
	buffer = 64 << 10
)

// Options says what a log does not tell itself.
type Options struct {
	// Zone is the zone of the process that wrote the log. nil: what the journal or the container's log around it tells, else the machine's.
	Zone *time.Location
	// Latest is when the log ends at the latest, mostly the file's time: headers have no year. Zero is now.
	Latest time.Time
	// Runtime takes the lines of a container runtime's log that are in the same file, without what is around them: those of its
	// own log, and those in a journal of both. It is called while [Reader.Next] reads, and reports whether the line was one. May be nil.
	Runtime func(line string) bool
	// Export says that it is a journal in its export format. Otherwise that is known by its beginning, which a log that is followed may not
	// have yet.
	Export bool
}

// Item is an entry, or what is missing at the end of a log, or nothing where [Options.Runtime] took a line: then Entry.Msg and Entry.Time
// are empty.
type Item struct {
	Entry klog.Entry
	// Lost is how many lines are known to be missing before the entry.
	Lost uint64
}

// Stats counts what was read.
type Stats struct {
	// Entries is how many entries there were, Lost how many lines are known to be missing, Cut how many entries end within a value.
	Entries, Lost, Cut uint64
	// Other is how many lines belong to something else, as other units of a journal. Runtime is how many the container runtime wrote.
	Other, Runtime uint64
}

// Reader reads one log.
type Reader struct {
	pieces  pieces
	zone    *time.Location // as told or found out; nil where it is to be found out
	told    bool           // zone is as told
	clock   klog.Clock
	stats   Stats
	pending strings.Builder
	have    bool // pending has an entry
	cut     bool // and is too long
	when    time.Time
	process string
	before  uint64 // lines that are missing before it
	lost    uint64 // and after it, so far
	fresh   bool   // nothing has been read yet
	runtime func(line string) bool
	end     error
}

// piece is a line, or a part of one, without what was around it.
type piece struct {
	text string
	// at is when it was taken down by who is around it, where that tells the year; else zero.
	at time.Time
	// process tells apart whose lines come by turns.
	process string
	// part says that the line continues in the next piece.
	part bool
	lost uint64 // lines that are missing here
	cut  bool
	// runtime says that the container runtime wrote it, or may have.
	runtime bool
}

// pieces is a form that logs come in. It returns io.EOF after the last piece.
type pieces interface {
	next() (piece, error)
	others() uint64
}

// NewReader returns a reader of a log. The form that it comes in is known by its beginning.
func NewReader(r io.Reader, o Options) (*Reader, error) {
	out := &Reader{zone: o.Zone, told: o.Zone != nil, clock: klog.Clock{Zone: o.Zone, Latest: o.Latest}, fresh: true, runtime: o.Runtime}
	if o.Export { // nothing is read yet
		out.pieces = &export{lines: &lines{r: bufio.NewReaderSize(r, buffer)}}
		return out, nil
	}
	b := bufio.NewReaderSize(r, buffer)
	head, err := b.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrIdle) {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if isGzip(head) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("read the log's gzip: %w", err)
		}
		b = bufio.NewReaderSize(z, buffer)
	}
	b = inUTF8(bufio.NewReaderSize(io.LimitReader(b, maxTotal), buffer))
	head, err = b.Peek(buffer)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrIdle) {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	var in indent // none of a log that is followed
	if err == nil || errors.Is(err, io.EOF) {
		in = indentOf(head)
		if isReversed(head, in) {
			if b, err = forward(b); err != nil {
				return nil, err
			}
		}
	}
	lines := &lines{r: b}
	if isExport(head) {
		out.pieces = &export{lines: lines}
	} else {
		out.pieces = &text{lines: lines, indent: in}
	}
	return out, nil
}

// Stats returns what was read so far.
func (r *Reader) Stats() Stats {
	s := r.stats
	s.Other += r.pieces.others()
	return s
}

// Cursor is the journal's mark of the last entry that was read; "" where the log is no journal's export.
func (r *Reader) Cursor() string {
	if x, ok := r.pieces.(*export); ok {
		return x.cursor
	}
	return ""
}

// Next returns the next entry, io.EOF after the last. Of a log that is followed, it returns ErrIdle when there is nothing more at the
// moment; the last entry that was written counts as whole then.
func (r *Reader) Next() (Item, error) {
	for r.end == nil {
		p, err := r.pieces.next()
		if errors.Is(err, ErrIdle) {
			if it, ok := r.done(true); ok {
				return it, nil
			}
			return Item{}, ErrIdle
		}
		if err != nil {
			r.end = err
			break
		}
		if p.runtime {
			if r.runtime != nil && r.runtime(p.text) {
				r.stats.Runtime++
				return Item{}, nil
			}
			r.stats.Other++
			continue
		}
		begins := !p.part && isEntry(p.text)
		if it, ok := r.done(begins); ok {
			r.take(&p, begins)
			return it, nil
		}
		r.take(&p, begins)
	}
	if it, ok := r.done(true); ok {
		return it, nil
	}
	if r.lost > 0 {
		it := Item{Lost: r.lost}
		r.lost = 0
		return it, nil
	}
	return Item{}, r.end
}

// isEntry reports whether a line begins an entry.
func isEntry(line string) bool {
	return klog.HeaderAt(line) == 0 || strings.HasPrefix(line, "{") && strings.Contains(line, `"ts":`)
}

// take puts a piece to the entry that is being read.
func (r *Reader) take(p *piece, begins bool) {
	r.lost += p.lost
	r.stats.Lost += p.lost
	switch {
	case begins:
		r.have, r.when, r.process = true, p.at, p.process
		r.before, r.lost = r.lost, 0
	case p.text == "" && p.lost > 0:
		return
	case !r.have || p.process != r.process && p.process != "":
		if r.fresh && p.text != "" && p.process != "" { // the end of an entry whose beginning is missing
			r.lost++
			r.stats.Lost++
		} else {
			r.stats.Other++
		}
		r.fresh = false
		return
	case r.pending.Len() > 0:
		r.pending.WriteByte('\n')
	}
	r.fresh = false
	r.cut = r.cut || p.cut
	room := klog.MaxEntry + 1 - r.pending.Len()
	if len(p.text) > room {
		p.text, r.cut = p.text[:max(room, 0)], true
	}
	r.pending.WriteString(p.text)
}

// done returns the entry that is whole now.
func (r *Reader) done(now bool) (Item, bool) {
	if !now || !r.have {
		return Item{}, false
	}
	text := r.pending.String()
	r.pending.Reset()
	r.have = false
	e, ok := r.parse(text)
	if !ok {
		r.stats.Other++
		r.lost += r.before
		return Item{}, false
	}
	e.Cut = e.Cut || r.cut
	r.cut = false
	if e.Cut {
		r.stats.Cut++
	}
	r.stats.Entries++
	return Item{Entry: e, Lost: r.before}, true
}

func (r *Reader) parse(text string) (klog.Entry, bool) {
	if strings.HasPrefix(text, "{") {
		return klog.ParseJSON(text)
	}
	if strings.IndexByte(text, '"') < 0 && strings.Contains(text, "&quot;") { // copied from a page's source
		text = html.UnescapeString(text)
	}
	if strings.IndexByte(text, '"') < 0 && strings.Contains(text, "“") { // a word processor or a forum made them
		text = strings.NewReplacer("“", `"`, "”", `"`).Replace(text)
	}
	if r.when.IsZero() {
		return klog.ParseText(text, &r.clock)
	}
	r.align(text)
	r.clock.Knows(r.when)
	e, ok := klog.ParseText(text, &r.clock)
	if off := r.off(e.Time); ok && r.zone != nil && !r.told && off != 0 { // summer time began or ended
		_, now := e.Time.Zone()
		r.found(time.Duration(now)*time.Second + off)
		e.Time = e.Time.Add(-off).In(r.zone)
		r.clock.Knows(e.Time)
	}
	return e, ok
}

// align finds out the zone of the process from a time that was taken down around its lines.
func (r *Reader) align(text string) {
	if r.zone != nil {
		return
	}
	k := klog.Clock{Zone: time.UTC}
	k.Knows(r.when)
	head, _, _ := strings.Cut(text, "\n")
	if e, ok := klog.ParseText(head, &k); ok && (r.off(e.Time) != 0 || e.Time.Sub(r.when).Abs() <= late) {
		r.found(r.off(e.Time))
	}
}

// late is how much later than it was written a line is taken down at most, to tell of the zone.
const late = 5 * time.Minute

// off is by how much an entry's time is off: by whole quarters of an hour from when the line was taken down. It is 0 where the entry was not
// written when it was taken down.
func (r *Reader) off(at time.Time) time.Duration {
	off := at.Sub(r.when).Round(15 * time.Minute)
	if off.Abs() > 14*time.Hour || at.Add(-off).Sub(r.when).Abs() > late {
		return 0
	}
	return off
}

// found takes in the zone of the process.
func (r *Reader) found(off time.Duration) {
	name := "UTC"
	if off != 0 {
		name = fmt.Sprintf("UTC%+g", math.Round(off.Hours()*100)/100)
	}
	r.zone = time.FixedZone(name, int(off.Seconds()))
	r.clock.Zone = r.zone
}

// Sniff reports whether a file that begins with head is a log that a Reader reads.
func Sniff(head []byte) bool {
	if isGzip(head) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		plain := make([]byte, buffer)
		n, err := io.ReadFull(z, plain)
		if n == 0 && err != nil {
			return false
		}
		head = plain[:n]
	}
	if encodingOf(head) != utf8Plain {
		head, _ = io.ReadAll(io.LimitReader(inUTF8(bufio.NewReader(bytes.NewReader(head))), 4*buffer)) // its end may be half a character
	}
	if isExport(head) {
		return true
	}
	for line := range strings.Lines(string(head[:min(len(head), 4*buffer)])) {
		line = uncolored(strings.TrimRight(line, "\r\n"))
		if strings.HasPrefix(line, "{") {
			_, entry := klog.ParseJSON(line)
			if _, known := inJSON(line); known || entry || isRuntimeLine(line) {
				return true
			}
			continue
		}
		if p, _ := strip(line); p.runtime || isEntry(cmp.Or(p.text, line)) || strings.HasPrefix(line, "-- Logs begin at ") || strings.HasPrefix(line, "-- Journal begins at ") || isSection(line) || p.journal {
			return true
		}
	}
	return false
}

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) }
