package proxy

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// prefix is that of the CRI's own methods; other services may share the socket.
const prefix = "/runtime.v1."

// method is what is known of a method.
type method struct {
	name            string // RunPodSandbox
	unary           bool
	request, answer protoreflect.MessageType
}

// methods are those of the CRI that this program knows, by their full name: /runtime.v1.RuntimeService/RunPodSandbox.
func methods() map[string]method {
	out := map[string]method{}
	services := runtimeapi.File_staging_src_k8s_io_cri_api_pkg_apis_runtime_v1_api_proto.Services()
	for i := range services.Len() {
		all := services.Get(i).Methods()
		for j := range all.Len() {
			m := all.Get(j)
			in, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
			if err != nil {
				continue
			}
			to, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
			if err != nil {
				continue
			}
			out["/"+string(services.Get(i).FullName())+"/"+string(m.Name())] = method{
				name: string(m.Name()), unary: !m.IsStreamingClient() && !m.IsStreamingServer(), request: in, answer: to,
			}
		}
	}
	return out
}

// maxDecoded is the largest message that is decoded. Of a larger one its size is known.
const maxDecoded = 1 << 20

// decode returns a copy of a message; nil where it is too large or cannot be decoded.
func decode(kind protoreflect.MessageType, f *frame) proto.Message {
	if kind == nil || f.data.Len() > maxDecoded {
		return nil
	}
	m := kind.New().Interface()
	if proto.Unmarshal(f.bytes(), m) != nil {
		return nil
	}
	return m
}
