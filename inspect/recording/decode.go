package recording

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// decoder decompresses payloads. It is for one goroutine.
type decoder struct {
	zstd *zstd.Decoder
	text []byte
}

func newDecoder() (*decoder, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("make decoder: %w", err)
	}
	return &decoder{zstd: z}, nil
}

// open returns a frame's text, valid until the next call.
func (d *decoder) open(h head, payload []byte) ([]byte, error) {
	if castagnoli(payload) != h.sum {
		return nil, errors.New("its checksum is incorrect")
	}
	if h.flags&flagZstd == 0 {
		return payload, nil
	}
	if cap(d.text) < int(h.raw) || cap(d.text) > 4*frameRaw {
		d.text = make([]byte, 0, max(int(h.raw), frameRaw))
	}
	text, err := d.zstd.DecodeAll(payload, d.text[:0:h.raw])
	if err == nil && len(text) != int(h.raw) {
		err = fmt.Errorf("%d bytes of text: must be %d", len(text), h.raw)
	}
	return text, err
}
