package cri

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// headCodec decodes an ExecSyncResponse without its whole output in memory: it copies the first bytes of each stream
// and skips the rest in gRPC's buffers, which gRPC reuses. Other messages are decoded as usual.
type headCodec struct {
	encoding.CodecV2
	limit int
}

// Unmarshal implements encoding.CodecV2.
func (c headCodec) Unmarshal(data mem.BufferSlice, v any) error {
	answer, ok := v.(*runtimeapi.ExecSyncResponse)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	proto.Reset(answer)
	r := data.Reader()
	defer func() { _ = r.Close() }()
	for r.Remaining() > 0 {
		if err := c.field(r, answer); err != nil {
			return fmt.Errorf("read ExecSyncResponse: %w", err)
		}
	}
	return nil
}

// errGroup: a field of a wire type that proto3, and so the CRI, does not have.
var errGroup = errors.New("a group, or a field of a wire type that is not known")

// The numbers of ExecSyncResponse's fields.
const (
	stdoutField   = 1
	stderrField   = 2
	exitCodeField = 3
)

// field decodes one field; unknown ones are skipped.
func (c headCodec) field(r *mem.Reader, to *runtimeapi.ExecSyncResponse) error {
	tag, err := binary.ReadUvarint(r)
	if err != nil {
		return err
	}
	num, kind := protowire.DecodeTag(tag)
	var size uint64
	switch kind {
	case protowire.VarintType:
		n, err := binary.ReadUvarint(r)
		if num == exitCodeField {
			to.ExitCode = int32(n)
		}
		return err
	case protowire.Fixed32Type:
		size = 4
	case protowire.Fixed64Type:
		size = 8
	case protowire.BytesType:
		if size, err = binary.ReadUvarint(r); err != nil {
			return err
		}
	case protowire.StartGroupType, protowire.EndGroupType:
		return errGroup
	default:
		return errGroup
	}
	if size > uint64(r.Remaining()) {
		return io.ErrUnexpectedEOF
	}
	rest := int(size)
	if kind == protowire.BytesType && (num == stdoutField || num == stderrField) {
		head := make([]byte, min(rest, c.limit))
		if _, err := io.ReadFull(r, head); err != nil {
			return err
		}
		if rest -= len(head); num == stdoutField {
			to.Stdout = head
		} else {
			to.Stderr = head
		}
	}
	_, err = r.Discard(rest)
	return err
}
