package bundle

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
)

// reading is a reader whose reads fail once ctx has ended.
type reading struct {
	ctx context.Context //nolint:containedctx // of what is read
	io.Reader
}

// Read implements io.Reader.
func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// reads are the reads of a file until ctx ends.
func reads(ctx context.Context, f io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{reading{ctx, f}, f}
}

// inflated is what is read, decompressed where it is compressed.
func inflated(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if head, err := b.Peek(2); err != nil || head[0] != 0x1f || head[1] != 0x8b {
		return b, nil //nolint:nilerr // whoever reads on gets it
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(z, 64<<10), nil
}
