package logfile

import (
	"bufio"
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"
)

// encoding is how a file has its characters.
type encoding int

const (
	utf8Plain  encoding = iota
	utf8Marked          // with a byte order mark
	utf16Little
	utf16Big
)

// encodingOf tells an encoding by a file's beginning. PowerShell on Windows writes UTF-16.
func encodingOf(head []byte) encoding {
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		return utf8Marked
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return utf16Little
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return utf16Big
	case len(head) < 4 || head[0] == 0 && head[1] == 0:
		return utf8Plain
	case head[1] == 0 && head[3] == 0:
		return utf16Little
	case head[0] == 0 && head[2] == 0:
		return utf16Big
	}
	return utf8Plain
}

// inUTF8 reads what r has as UTF-8, whatever its encoding is.
func inUTF8(r *bufio.Reader) *bufio.Reader {
	head, _ := r.Peek(4)
	switch e := encodingOf(head); e {
	case utf16Little, utf16Big:
		return bufio.NewReaderSize(&wide{r: r, big: e == utf16Big}, buffer)
	case utf8Marked:
		_, _ = r.Discard(3)
	case utf8Plain:
	}
	return r
}

// wide reads UTF-16.
type wide struct {
	r    *bufio.Reader
	big  bool
	left []byte // read, and not returned yet
	high rune   // the first half of a character of two
}

func (w *wide) Read(p []byte) (n int, err error) {
	for len(w.left) == 0 || len(w.left) < len(p) && w.r.Buffered() >= 2 {
		pair, err := w.r.Peek(2)
		if err != nil {
			return 0, err // half a character at the end is none
		}
		_, _ = w.r.Discard(2)
		c := rune(pair[0]) | rune(pair[1])<<8
		if w.big {
			c = rune(pair[1]) | rune(pair[0])<<8
		}
		switch high := w.high; {
		case high != 0:
			w.high = 0
			w.left = utf8.AppendRune(w.left, utf16.DecodeRune(high, c))
		case utf16.IsSurrogate(c):
			w.high = c
		case c != 0xfeff:
			w.left = utf8.AppendRune(w.left, c)
		}
	}
	n = copy(p, w.left)
	w.left = w.left[:copy(w.left, w.left[n:])]
	return n, nil
}

// colors are what programs write to a terminal beside text.
var colors = pattern.New("\x1b\\[[0-9;?]{0,32}[A-Za-z]")

// uncolored is a line without colors.
func uncolored(line string) string {
	if strings.IndexByte(line, 0x1b) < 0 {
		return line
	}
	return colors.ReplaceAllString(line, "")
}
