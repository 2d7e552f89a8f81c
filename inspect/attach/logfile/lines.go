package logfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrIdle is what an [io.Reader] returns that follows a log while nothing is added to it, and what [Reader.Next] then returns when all that
// was written has been returned. Reading again continues.
var ErrIdle = errors.New("nothing is added to the log at the moment")

// lines reads lines of bounded length.
type lines struct {
	r   *bufio.Reader
	buf []byte // of a line whose end is not written yet
	cut bool
}

// next returns a line without its end. Of a line that is too long it returns the beginning, and cut. NULs and carriage returns are left out,
// as Windows and a full disk leave them.
func (l *lines) next() (line string, cut bool, err error) {
	buf := l.buf
	cut, l.buf, l.cut = l.cut, nil, false
	for {
		part, err := l.r.ReadSlice('\n')
		if room := maxLine - len(buf); len(part) > room {
			part, cut = part[:room], true
		}
		buf = append(buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, ErrIdle):
			l.buf, l.cut = buf, cut
			return "", false, err
		case errors.Is(err, io.EOF) && len(buf) > 0:
		case err != nil:
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("read the log: %w", err)
			}
			return "", false, err
		}
		buf = bytes.TrimRight(buf, "\r\n")
		if bytes.IndexByte(buf, 0) >= 0 {
			buf = bytes.ReplaceAll(buf, []byte{0}, nil)
		}
		return uncolored(string(buf)), cut, nil
	}
}
