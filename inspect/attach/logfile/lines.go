package logfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lines reads lines of bounded length.
type lines struct{ r *bufio.Reader }

// next returns a line without its end. Of a line that is too long it returns the beginning, and cut. NULs and carriage returns are left out,
// as Windows and a full disk leave them.
func (l *lines) next() (line string, cut bool, err error) {
	var buf []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if room := maxLine - len(buf); len(part) > room {
			part, cut = part[:room], true
		}
		buf = append(buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
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
		return string(buf), cut, nil
	}
}
