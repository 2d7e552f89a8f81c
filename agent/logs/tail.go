package logs

import (
	"bytes"
	"context"
	"io"
)

const tailBlock = 32 << 10

// tailStart returns where the last n entries of the file begin. It reads from the end, and only as much as necessary.
// An incomplete last entry does not count: it follows the others, so with n = 0 it is where the file is read from.
//
// Upstream: cri-client/pkg/logs/tail.go.
func tailStart(ctx context.Context, f io.ReaderAt, size, n int64) (int64, error) {
	buf := make([]byte, min(tailBlock, size))
	found := int64(0)
	for end := size; end > 0; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start := max(0, end-tailBlock)
		block := buf[:end-start]
		if _, err := f.ReadAt(block, start); err != nil {
			return 0, err
		}
		// The newline before the first of these entries is the (n+1)th from the end.
		for i := bytes.LastIndexByte(block, '\n'); i >= 0; i = bytes.LastIndexByte(block[:i], '\n') {
			if found++; found > n {
				return start + int64(i) + 1, nil
			}
		}
		end = start
	}
	return 0, nil
}
