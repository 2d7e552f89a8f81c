package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Version is the format version that this program writes, and the newest that it reads. It is 2 since records have a
// schema (trace.Version): older readers would find no sentences in their waits.
const Version = 2

const (
	magic      = "\x89KLREC\n\x1a" // binary; shows whether a transfer changed line ends
	preludeLen = 16
	headMagic  = "KLfr"
	headLen    = 72

	// frameRaw is the length of text from which a frame is full, in bytes.
	frameRaw = 256 << 10
	// maxLine is the maximum length of a written record, in bytes.
	maxLine = 16 << 20
	// maxRaw and maxStored limit a frame, before and after compression, in bytes.
	maxRaw    = 32 << 20
	maxStored = maxRaw + 1<<20
)

// The contents of a frame. Readers skip unknown ones.
const (
	frameSession = 'S' // the header of a session or of a part of it
	frameRecords = 'R'
)

// The properties of a frame.
const (
	flagZstd    = 1 << iota // the payload is compressed
	flagEarlier             // records from before the session: they describe the state of the node at its begin
	flagRepeat              // repeats the state from earlier parts, in case these are gone
)

// head is the header of a frame. Times are in Unix nanoseconds.
type head struct {
	kind, flags       byte
	stored, raw       uint32 // length of the payload, as stored and decompressed
	records           uint32
	lost              uint64
	first, last       int64
	firstSeq, lastSeq uint64
	sum               uint32 // CRC-32C of the payload as stored
}

// errHead is the error for bytes that are not a frame's header.
var errHead = errors.New("not a frame")

func castagnoli(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

// appendPrelude appends the beginning of a file.
func appendPrelude(dst []byte) []byte {
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint16(dst, Version)
	return append(dst, make([]byte, preludeLen-len(magic)-2)...)
}

// checkPrelude returns the version of the recording at the beginning of p, or an error if this program cannot read it.
func checkPrelude(p []byte) (version int, err error) {
	if len(p) < preludeLen || string(p[:len(magic)]) != magic {
		return 0, errors.New("not a recording")
	}
	v := binary.LittleEndian.Uint16(p[len(magic):])
	if v > Version || v == 0 {
		return 0, fmt.Errorf("format version %d: this kubeloupe reads versions up to %d: use a newer kubeloupe", v, Version)
	}
	return int(v), nil
}

func (h *head) append(dst []byte) []byte {
	le, at := binary.LittleEndian, len(dst)
	dst = append(append(dst, headMagic...), h.kind, h.flags, 0, 0)
	for _, v := range []uint32{h.stored, h.raw, h.records, 0} {
		dst = le.AppendUint32(dst, v)
	}
	for _, v := range []uint64{h.lost, uint64(h.first), uint64(h.last), h.firstSeq, h.lastSeq} {
		dst = le.AppendUint64(dst, v)
	}
	dst = le.AppendUint32(dst, h.sum)
	return le.AppendUint32(dst, castagnoli(dst[at:]))
}

// parseHead parses a header and validates its fields.
func parseHead(p []byte) (head, error) {
	le := binary.LittleEndian
	if len(p) < headLen || string(p[:len(headMagic)]) != headMagic || le.Uint32(p[68:]) != castagnoli(p[:68]) {
		return head{}, errHead
	}
	h := head{
		kind: p[4], flags: p[5], stored: le.Uint32(p[8:]), raw: le.Uint32(p[12:]), records: le.Uint32(p[16:]),
		lost: le.Uint64(p[24:]), first: int64(le.Uint64(p[32:])), last: int64(le.Uint64(p[40:])),
		firstSeq: le.Uint64(p[48:]), lastSeq: le.Uint64(p[56:]), sum: le.Uint32(p[64:]),
	}
	if h.stored > maxStored || h.raw > maxRaw || h.records > h.raw {
		return head{}, errHead
	}
	return h, nil
}
