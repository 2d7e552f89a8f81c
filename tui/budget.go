package tui

import (
	"io"
	"os"
	"sync/atomic"
	"time"
)

const (
	// bytesPerSecond is what the stream may make the UI write, over any while; what
	// the user asks for by a key is drawn at once all the same.
	bytesPerSecond = 9000
	// burst is what may be written at once after a quiet time.
	burst = 6000
)

// budget says when the next frame may be drawn, going by what the last ones took.
type budget struct {
	wrote  *atomic.Int64 // bytes so far, nil: nobody counts
	seen   int64
	left   float64
	filled time.Time
}

// allows reports whether there is something left to spend.
func (b *budget) allows(now time.Time) bool {
	if b.wrote == nil {
		return true
	}
	if b.filled.IsZero() {
		b.left = burst
	} else {
		b.left = min(b.left+now.Sub(b.filled).Seconds()*bytesPerSecond, burst)
	}
	b.filled = now
	n := b.wrote.Load()
	b.left -= float64(n - b.seen)
	b.seen = n
	return b.left > 0
}

// metered counts what is written to out. A file stays one, so that a terminal is
// known as such, and is not waited for forever: see late, which is nil of others.
func metered(out io.Writer) (io.Writer, *atomic.Int64, *late) {
	var n atomic.Int64
	if f, ok := out.(*os.File); ok {
		l := &late{to: f, patience: frameTime}
		return &meteredFile{f, &n, l}, &n, l
	}
	return &meteredWriter{out, &n}, &n, nil
}

type meteredFile struct {
	*os.File
	n    *atomic.Int64
	late *late
}

// Write implements io.Writer.
func (m *meteredFile) Write(p []byte) (int, error) {
	n, err := m.late.Write(p)
	m.n.Add(int64(n))
	return n, err
}

// WriteString implements io.StringWriter.
func (m *meteredFile) WriteString(s string) (int, error) { return m.Write([]byte(s)) }

type meteredWriter struct {
	io.Writer
	n *atomic.Int64
}

// Write implements io.Writer.
func (m *meteredWriter) Write(p []byte) (int, error) {
	n, err := m.Writer.Write(p)
	m.n.Add(int64(n))
	return n, err
}
