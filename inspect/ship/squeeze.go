package ship

import (
	"github.com/klauspost/compress/zstd"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// window is how far back the compression looks for repetitions.
const window = 128 << 10

// squeezer compresses what has to wait. Its encoder is made when it is needed first. It is not safe for concurrent use.
type squeezer struct{ enc *zstd.Encoder }

// squeeze compresses a parcel that is not compressed, where that makes it smaller.
func (z *squeezer) squeeze(p *parcel) {
	if z.enc == nil {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil { // these options are valid
			return
		}
		z.enc = enc
	}
	for i := range p.parts {
		t := &p.parts[i]
		if small := z.enc.EncodeAll(t.wire, nil); len(small) < t.bytes {
			p.kept += len(small) - t.bytes
			t.wire = append(make([]byte, 0, len(small)), small...) // what it grew for stays behind
		}
	}
}

// opener reads what a squeezer has compressed. It is not safe for concurrent use.
type opener struct{ dec *zstd.Decoder }

// open returns the spans.
func (o *opener) open(p parcel) []*tracepb.ResourceSpans {
	out := make([]*tracepb.ResourceSpans, 0, len(p.parts))
	for _, t := range p.parts {
		rs := &tracepb.ResourceSpans{}
		if wire, err := o.wire(t); err == nil && proto.Unmarshal(wire, rs) == nil { // we wrote it
			out = append(out, rs)
		}
	}
	return out
}

// wire returns the spans as they are sent.
func (o *opener) wire(t packed) ([]byte, error) {
	if len(t.wire) == t.bytes {
		return t.wire, nil
	}
	if o.dec == nil {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		o.dec = dec
	}
	return o.dec.DecodeAll(t.wire, make([]byte, 0, t.bytes))
}
