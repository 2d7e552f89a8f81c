package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// indexLines divides JSON lines into frames; of each frame, it parses only the first and the last record.
func indexLines(r io.ReaderAt, size int64) ([]frame, error) {
	var frames []frame
	for pos := int64(0); pos < size; {
		p, err := wholeLines(r, pos, size)
		if err != nil {
			return nil, err
		}
		f := frame{off: pos, head: head{kind: frameRecords, stored: uint32(len(p)), raw: uint32(len(p))}}
		f.records = uint32(bytes.Count(p, []byte("\n")))
		f.ends(p)
		frames = append(frames, f)
		pos += int64(len(p))
	}
	return frames, nil
}

// wholeLines reads about one frame, up to the end of a line or of the file.
func wholeLines(r io.ReaderAt, pos, size int64) ([]byte, error) {
	for n := int64(frameRaw); ; n *= 4 {
		p, err := readAt(r, pos, int(min(n, jsonl.MaxLine+1, size-pos)))
		if err != nil && !(errors.Is(err, io.EOF) && len(p) > 0) {
			return nil, fmt.Errorf("read at %d: %w", pos, err)
		}
		if pos+int64(len(p)) >= size {
			return p, nil
		}
		if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
			return p[:i+1], nil
		}
		if n > jsonl.MaxLine {
			return nil, fmt.Errorf("the line at byte %d is %w", pos, jsonl.ErrTooLong)
		}
	}
}

// ends takes times and numbers from the first and the last record.
func (f *frame) ends(p []byte) {
	for line := range bytes.Lines(p) {
		if r, ok := recordIn(line); ok {
			f.first, f.firstSeq = r.Time, r.Seq
			break
		}
	}
	for p = bytes.TrimRight(p, "\n"); len(p) > 0; {
		i := bytes.LastIndexByte(p, '\n')
		if r, ok := recordIn(p[i+1:]); ok {
			f.last, f.lastSeq = r.Time, r.Seq
			break
		}
		p = bytes.TrimRight(p[:max(i, 0)], "\n")
	}
}

// recordIn parses a line that may be a record, including one of an unknown kind.
func recordIn(line []byte) (trace.Record, bool) {
	var r trace.Record
	if len(line) > 0 && line[0] != '{' {
		return r, false
	}
	return r, r.ParseJSON(line) == nil
}
