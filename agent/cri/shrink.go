package cri

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Limits for a message that is too large to keep. The author of a pod's manifest or an image determines its size.
const (
	shrunkText  = 256 // bytes
	shrunkItems = 16  // of a list or a map
	shrunkDepth = 8
)

// shrink returns a small copy of m: the beginnings of its texts and lists. The time does not depend on the size of the
// message.
func shrink(m protoreflect.Message, depth int) protoreflect.Message {
	return shrinkTo(m, depth, shrunkText)
}

// shorten is shrink for lists only: texts are complete, and shared with m, because a secret that is cut could not be
// found in them.
func shorten(m protoreflect.Message) protoreflect.Message {
	return shrinkTo(m, shrunkDepth, math.MaxInt)
}

func shrinkTo(m protoreflect.Message, depth, text int) protoreflect.Message {
	small := m.New()
	if depth == 0 {
		return small
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			shrinkMap(small.Mutable(fd).Map(), v.Map(), fd.MapValue(), depth, text)
		case fd.IsList():
			to, from := small.Mutable(fd).List(), v.List()
			for i := range min(from.Len(), shrunkItems) {
				to.Append(shrinkValue(from.Get(i), fd, depth, text))
			}
		default:
			small.Set(fd, shrinkValue(v, fd, depth, text))
		}
		return true
	})
	return small
}

// shrinkMap keeps the first keys in sorted order. It reads all keys, but copies few.
func shrinkMap(to, from protoreflect.Map, fd protoreflect.FieldDescriptor, depth, text int) {
	var first []protoreflect.MapKey
	order := func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) }
	from.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		at, _ := slices.BinarySearchFunc(first, k, order)
		if at < shrunkItems && len(k.String()) <= text {
			first = slices.Insert(first, at, k)
			first = first[:min(len(first), shrunkItems)]
		}
		return true
	})
	for _, k := range first {
		to.Set(k, shrinkValue(from.Get(k), fd, depth, text))
	}
}

func shrinkValue(v protoreflect.Value, fd protoreflect.FieldDescriptor, depth, text int) protoreflect.Value {
	switch fd.Kind() { //nolint:exhaustive // the others have a size of their own
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return protoreflect.ValueOfMessage(shrinkTo(v.Message(), depth-1, text))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(trace.Clip(v.String(), text))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(shrinkBytes(v.Bytes(), text))
	default:
		return v
	}
}

func shrinkBytes(p []byte, text int) []byte {
	if len(p) <= text {
		return p
	}
	return fmt.Appendf(slices.Clip(p[:text-40]), "…[clipped: %d bytes]", len(p))
}
