package proxy

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// frame is a message as bytes. Free it once.
type frame struct{ data mem.BufferSlice }

func (f *frame) free() {
	f.data.Free()
	f.data = nil
}

// bytes returns the message's bytes, which are the caller's.
func (f *frame) bytes() []byte { return f.data.Materialize() }

// raw passes frames through.
type raw struct{}

var _ encoding.CodecV2 = raw{}

// Marshal implements encoding.CodecV2. The frame keeps its own reference.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("cannot relay a %T", v)
	}
	f.data.Ref()
	return f.data, nil
}

// Unmarshal implements encoding.CodecV2.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("cannot relay to a %T", v)
	}
	f.free()
	data.Ref()
	f.data = data
	return nil
}

// Name implements encoding.CodecV2. It is empty, so that no content subtype is sent.
func (raw) Name() string { return "" }
