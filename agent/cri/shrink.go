package cri

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubeloupe/kubeloupe/trace"
)

// What is kept of a message that is too large to be kept whole. Who wrote a pod's manifest or an image decides how large a message is.
const (
	shrunkText  = 256 // bytes
	shrunkItems = 16  // of a list or a map
	shrunkDepth = 8
)

// shrink returns a small copy of m: the beginnings of its texts and lists. It takes no longer for a larger message.
func shrink(m protoreflect.Message, depth int) protoreflect.Message {
	small := m.New()
	if depth == 0 {
		return small
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			shrinkMap(small.Mutable(fd).Map(), v.Map(), fd.MapValue(), depth)
		case fd.IsList():
			to, from := small.Mutable(fd).List(), v.List()
			for i := range min(from.Len(), shrunkItems) {
				to.Append(shrinkValue(from.Get(i), fd, depth))
			}
		default:
			small.Set(fd, shrinkValue(v, fd, depth))
		}
		return true
	})
	return small
}

// shrinkMap keeps the first keys in their order. Looking for them reads all keys, but copies few.
func shrinkMap(to, from protoreflect.Map, fd protoreflect.FieldDescriptor, depth int) {
	var first []protoreflect.MapKey
	order := func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) }
	from.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		at, _ := slices.BinarySearchFunc(first, k, order)
		if at < shrunkItems && len(k.String()) <= shrunkText {
			first = slices.Insert(first, at, k)
			first = first[:min(len(first), shrunkItems)]
		}
		return true
	})
	for _, k := range first {
		to.Set(k, shrinkValue(from.Get(k), fd, depth))
	}
}

func shrinkValue(v protoreflect.Value, fd protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	switch fd.Kind() { //nolint:exhaustive // the others have a size of their own
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return protoreflect.ValueOfMessage(shrink(v.Message(), depth-1))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(trace.Clip(v.String(), shrunkText))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(shrinkBytes(v.Bytes()))
	default:
		return v
	}
}

func shrinkBytes(p []byte) []byte {
	if len(p) <= shrunkText {
		return p
	}
	return fmt.Appendf(slices.Clip(p[:shrunkText-40]), "…[clipped: %d bytes]", len(p))
}
