package recording

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/kubeloupe/kubeloupe/trace"
)

// packer collects records for one frame.
type packer struct {
	enc *zstd.Encoder
	head
	text []byte // JSON lines
	out  []byte // the last sealed frame
}

func newPacker() (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(frameRaw), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("make encoder: %w", err)
	}
	return &packer{enc: enc}, nil
}

func (p *packer) empty() bool { return len(p.text) == 0 }

func (p *packer) full() bool { return len(p.text) >= frameRaw }

// add appends one record; lost is the number of missing ones before it. If it fails, nothing is added.
func (p *packer) add(r *trace.Record, lost uint64) error {
	before := len(p.text)
	if lost > 0 {
		if err := p.line(lostRecord(lost, r.Time)); err != nil {
			return err
		}
	}
	if err := p.line(r); err != nil {
		p.text = p.text[:before]
		return err
	}
	p.lost += lost
	p.records++
	p.stamp(r.Time, r.Seq)
	return nil
}

// addLost ends the frame with a loss.
func (p *packer) addLost(lost uint64, at int64) error {
	if err := p.line(lostRecord(lost, at)); err != nil {
		return err
	}
	p.lost += lost
	p.stamp(at, 0)
	return nil
}

func (p *packer) stamp(at int64, seq uint64) {
	if p.first == 0 {
		p.first, p.last = at, at
	}
	p.first, p.last = min(p.first, at), max(p.last, at)
	if seq != 0 && p.firstSeq == 0 {
		p.firstSeq = seq
	}
	p.lastSeq = max(p.lastSeq, seq)
}

func (p *packer) line(r *trace.Record) error {
	before := len(p.text)
	text, err := r.AppendJSON(p.text)
	if err == nil && len(text)-before > maxLine {
		err = fmt.Errorf("record %d is longer than %d MiB", r.Seq, maxLine>>20)
	}
	if err != nil {
		p.text = text[:before]
		return err
	}
	p.text = append(text, '\n')
	return nil
}

// seal returns the frame and begins the next. The result is valid until the next seal.
func (p *packer) seal() ([]byte, head) {
	p.out = append(p.out[:0], make([]byte, headLen)...)
	p.out = p.enc.EncodeAll(p.text, p.out)
	h := p.head
	h.kind, h.flags = frameRecords, h.flags|flagZstd
	h.raw, h.stored, h.sum = uint32(len(p.text)), uint32(len(p.out)-headLen), castagnoli(p.out[headLen:])
	h.append(p.out[:0])
	p.head, p.text = head{}, p.text[:0]
	if cap(p.text) > 4*frameRaw { // do not keep the memory of one large record
		p.text = nil
	}
	return p.out, h
}
