package recording

import (
	"bytes"
	"fmt"
	"io"
)

// frame is the location of a part of a recording, with the data in its header.
type frame struct {
	head
	part    int   // index of the file
	off     int64 // of the payload
	session int
	missing uint64 // records before it that were damaged
}

// index is the result of a scan of one file's headers. Payloads are not read, except headers of sessions and the last
// frame.
type index struct {
	frames   []frame
	sessions []Session
	count    Count // without repeated records
	payload  int64 // of the last frame
	end      int64 // of the last frame
	troubles

	torn        bool
	version     int    // of the format
	tornRecords uint64 // in the incomplete frame, according to its header
}

// indexFile scans a file of the format. It returns an error if the file cannot be read at all.
func indexFile(r io.ReaderAt, size int64) (*index, error) {
	p, err := readAt(r, 0, preludeLen)
	if err != nil && len(p) == 0 {
		return nil, fmt.Errorf("read it: %w", err)
	}
	version, err := checkPrelude(p)
	if err != nil {
		return nil, err
	}
	ix := &index{version: version, payload: preludeLen, end: preludeLen}
	for pos := int64(preludeLen); pos < size; {
		h, at, err := ix.find(r, pos, size)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			break
		}
		if err := ix.add(r, h, at); err != nil {
			return nil, err
		}
		pos = at + headLen + int64(h.stored)
	}
	if err := ix.checkLast(r); err != nil {
		return nil, err
	}
	ix.torn = ix.end < size
	return ix, nil
}

// find returns the next valid header. It is at pos, unless there is damage: then it may be anywhere after the last
// valid header, because that may have a wrong length. -1: there is none.
func (ix *index) find(r io.ReaderAt, pos, size int64) (head, int64, error) {
	h, ok, err := headAt(r, pos, size)
	if ok || err != nil {
		return h, pos, err
	}
	at, err := search(r, min(pos, ix.payload), size)
	if at < 0 || err != nil {
		ix.tornRecords = uint64(h.records) // zero if the header is incomplete too
		return head{}, -1, err
	}
	ix.note(fmt.Sprintf("damage at byte %d: reading continues at %d", pos, at))
	h, _, err = headAt(r, at, size)
	return h, at, err
}

// headAt reads a header. It is valid if its payload is within the file.
func headAt(r io.ReaderAt, at, size int64) (head, bool, error) {
	if at+headLen > size {
		return head{}, false, nil
	}
	p, err := readAt(r, at, headLen)
	if err != nil {
		return head{}, false, fmt.Errorf("read at %d: %w", at, err)
	}
	h, err := parseHead(p)
	return h, err == nil && at+headLen+int64(h.stored) <= size, nil
}

// search searches for a valid header from a position; -1 if there is none.
func search(r io.ReaderAt, from, size int64) (int64, error) {
	const window = 1 << 20
	for pos := from; pos < size; pos += window {
		p, err := readAt(r, pos, int(min(window+headLen, size-pos)))
		if err != nil {
			return -1, fmt.Errorf("read at %d: %w", pos, err)
		}
		for i := 0; ; i++ {
			n := bytes.Index(p[i:], []byte(headMagic))
			if n < 0 || i+n >= window {
				break
			}
			i += n
			if _, ok, err := headAt(r, pos+int64(i), size); ok || err != nil {
				return pos + int64(i), err
			}
		}
	}
	return -1, nil
}

func (ix *index) add(r io.ReaderAt, h head, at int64) error {
	f := frame{head: h, off: at + headLen, session: max(0, len(ix.sessions)-1)}
	damaged := at != ix.end
	ix.payload, ix.end = f.off, f.off+int64(h.stored)
	switch h.kind {
	case frameSession:
		p, err := readAt(r, f.off, int(h.stored))
		if err != nil {
			return fmt.Errorf("read at %d: %w", f.off, err)
		}
		ix.addSession(f, p)
	case frameRecords:
		if damaged {
			f.missing = ix.gap(&f)
			ix.skipped += f.missing
		}
		ix.frames = append(ix.frames, f)
		if h.flags&flagRepeat == 0 {
			ix.count.Records += uint64(h.records)
			ix.count.Lost += h.lost
		}
	}
	return nil
}

func (ix *index) addSession(f frame, p []byte) {
	h, err := parseHeader(p)
	if castagnoli(p) != f.sum || err != nil {
		ix.note(fmt.Sprintf("the header of a session at %d is damaged", f.off))
		return
	}
	ix.skipped += h.Cut.Records
	ix.sessions = append(ix.sessions, Session{Header: h, frame: len(ix.frames)})
}

// gap returns how many records are missing between the last frame and f, at least one.
func (ix *index) gap(f *frame) uint64 {
	if n := len(ix.frames); n > 0 {
		if last := &ix.frames[n-1]; last.session == f.session && f.firstSeq > last.lastSeq+1 {
			if gap := f.firstSeq - last.lastSeq - 1; gap > f.lost {
				return gap - f.lost
			}
		}
	}
	return 1
}

// checkLast removes a last frame that is not complete on the disk.
func (ix *index) checkLast(r io.ReaderAt) error {
	n := len(ix.frames)
	if n == 0 || ix.frames[n-1].off+int64(ix.frames[n-1].stored) != ix.end {
		return nil
	}
	f := ix.frames[n-1]
	p, err := readAt(r, f.off, int(f.stored))
	if err != nil {
		return fmt.Errorf("read at %d: %w", f.off, err)
	}
	if castagnoli(p) == f.sum {
		return nil
	}
	ix.frames, ix.end, ix.tornRecords = ix.frames[:n-1], f.off-headLen, uint64(f.records)
	if f.flags&flagRepeat == 0 {
		ix.count.Records -= uint64(f.records)
		ix.count.Lost -= f.lost
	}
	return nil
}

func readAt(r io.ReaderAt, off int64, n int) ([]byte, error) {
	p := make([]byte, n)
	got, err := r.ReadAt(p, off)
	if got == n {
		return p, nil
	}
	return p[:got], err
}
