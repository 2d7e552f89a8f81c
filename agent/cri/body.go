package cri

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// body is a CRI message for people, rendered when it is read. It has no secrets: they were redacted before.
type body struct {
	kind  protoreflect.MessageType
	wire  []byte
	whole int // the message's size, if the body has only a part of it
}

// bodyOf keeps a message without its secrets, or a part of a large one; blank is as in [Redact]. It keeps the encoded
// form, because its size is known and it references no other memory.
func bodyOf(m proto.Message, blank func(string) string) trace.Body {
	if r, ok := m.(*runtimeapi.ExecSyncResponse); ok {
		return execBody(r)
	}
	size := proto.Size(m)
	b := body{kind: m.ProtoReflect().Type()}
	if size > muchBody { // copying and searching all of 70,000 variables would take a considerable part of the call's time
		m, b.whole = shorten(m.ProtoReflect()).Interface(), size
	}
	m = Redact(m, blank)
	if proto.Size(m) > maxBody {
		m, b.whole = shrink(m.ProtoReflect(), shrunkDepth).Interface(), size
	}
	var err error
	if b.wire, err = proto.Marshal(m); err != nil {
		return trace.Body{} // cannot happen: it could not have been sent
	}
	return trace.BodyOf(b, len(b.wire)+bodyOverhead)
}

const (
	bodyOverhead = 64
	maxBody      = trace.MaxBody - bodyOverhead
	// muchBody is the size of a message from which only the beginnings of lists are read.
	muchBody = 8 * maxBody
)

// execBody says how much a command printed, never what: it may be secret, and of any size.
func execBody(r *runtimeapi.ExecSyncResponse) trace.Body {
	text := fmt.Appendf(nil, `{"exitCode":%d,"stdoutBytes":%d,"stderrBytes":%d}`, r.GetExitCode(), len(r.GetStdout()), len(r.GetStderr()))
	return trace.BodyOf(json.RawMessage(text), len(text))
}

// MarshalJSON implements json.Marshaler.
func (b body) MarshalJSON() ([]byte, error) {
	m := b.kind.New()
	if err := proto.Unmarshal(b.wire, m.Interface()); err != nil {
		return nil, err
	}
	p, err := render(m.Interface())
	if b.whole == 0 || err != nil {
		return p, err
	}
	mark := fmt.Appendf(nil, `{%q:"%d bytes: lists show %d items, texts %d bytes"`, trace.Clipped, b.whole, shrunkItems, shrunkText)
	if len(p) > len("{}") {
		mark = append(mark, ',')
	}
	return append(mark, p[1:]...), nil
}

// render encodes a redacted message.
func render(m proto.Message) ([]byte, error) {
	p, err := protojson.Marshal(m)
	if _, ok := m.(*runtimeapi.CreateContainerRequest); ok && err == nil {
		return readableEnv(p)
	}
	return p, err
}

// readableEnv converts the values of environment variables to text: they are bytes in the CRI, and therefore base64 in
// JSON.
func readableEnv(p []byte) ([]byte, error) {
	var m map[string]any
	if err := json.Unmarshal(p, &m); err != nil {
		return nil, err
	}
	config, _ := m["config"].(map[string]any)
	envs, _ := config["envs"].([]any)
	for _, e := range envs {
		kv, _ := e.(map[string]any)
		if v, ok := kv["value"].(string); ok {
			if text, err := base64.StdEncoding.DecodeString(v); err == nil {
				kv["value"] = string(text)
			}
		}
	}
	return json.Marshal(m)
}

// Redact returns a copy of m without secrets: fields that the CRI marks debug_redact, values of environment variables
// with names such as PASSWORD, the annotation in which kubectl stores whole manifests, the output of programs, the
// commands of exec, URLs that grant access, and the runtime's verbose information, which has all of these. In other
// texts, blank (if not nil) redacts known secrets.
func Redact(m proto.Message, blank func(string) string) proto.Message {
	c := proto.Clone(m)
	redactWhole(c)
	redactMessage(c.ProtoReflect(), blank)
	return c
}

// redactWhole redacts what is secret by the type of the message.
func redactWhole(m proto.Message) {
	switch m := m.(type) {
	case *runtimeapi.ExecSyncResponse:
		m.Stdout, m.Stderr = nil, nil
	case *runtimeapi.ExecRequest:
		for i := range m.Cmd[min(1, len(m.Cmd)):] {
			m.Cmd[i+1] = redact.Mark
		}
	case *runtimeapi.ExecResponse:
		m.Url = streamURL(m.Url)
	case *runtimeapi.AttachResponse:
		m.Url = streamURL(m.Url)
	case *runtimeapi.PortForwardResponse:
		m.Url = streamURL(m.Url)
	}
	if m, ok := m.(interface{ GetInfo() map[string]string }); ok {
		clear(m.GetInfo())
	}
}

// streamURL returns a streaming server's URL without its last element, a token.
func streamURL(url string) string {
	if url = redact.URL(url); strings.Contains(url, "/") {
		return url[:strings.LastIndexByte(url, '/')+1] + redact.Mark
	}
	return url
}

func redactMessage(m protoreflect.Message, blank func(string) string) {
	switch kv := m.Interface().(type) {
	case *runtimeapi.KeyValue:
		switch {
		case secretName(kv.GetKey()) && len(kv.GetValue()) > 0:
			kv.Value = []byte(redact.Mark)
		case blank != nil:
			kv.Value = []byte(blank(string(kv.GetValue())))
		}
		return
	case *runtimeapi.AuthConfig:
		if kv.Username != "" {
			kv.Username = redact.Mark
		}
	case *runtimeapi.ImageSpec: // it has names, which may be equal to a user's, and the pod's annotations
		redactStrings(kv.GetAnnotations(), blank)
		return
	case *runtimeapi.ContainerMetadata, *runtimeapi.PodSandboxMetadata:
		return // names, as above
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case isSecret(fd):
			redactField(m, fd)
		case fd.IsMap():
			if fd.MapKey().Kind() == protoreflect.StringKind && fd.MapValue().Kind() == protoreflect.StringKind && fd.Name() != "labels" {
				redactMap(v.Map(), blank)
			}
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				redactMessage(v.List().Get(i).Message(), blank)
			}
		case fd.Message() != nil:
			redactMessage(v.Message(), blank)
		case blank == nil || fd.Kind() != protoreflect.StringKind:
		case fd.IsList():
			for i := range v.List().Len() {
				v.List().Set(i, protoreflect.ValueOfString(blank(v.List().Get(i).String())))
			}
		default:
			m.Set(fd, protoreflect.ValueOfString(blank(v.String())))
		}
		return true
	})
}

func redactField(m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	if fd.Kind() == protoreflect.StringKind && !fd.IsList() {
		m.Set(fd, protoreflect.ValueOfString(redact.Mark))
		return
	}
	m.Clear(fd)
}

func redactMap(m protoreflect.Map, blank func(string) string) {
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		m.Set(k, protoreflect.ValueOfString(shownEntry(k.String(), v.String(), blank)))
		return true
	})
}

func redactStrings(m map[string]string, blank func(string) string) {
	for k, v := range m {
		m[k] = shownEntry(k, v, blank)
	}
}

// shownEntry returns the redacted value of a map entry, for example of an annotation.
func shownEntry(key, value string, blank func(string) string) string {
	switch {
	case strings.HasSuffix(key, "last-applied-configuration") || secretName(key):
		return redact.Mark
	case blank != nil:
		return blank(value)
	}
	return value
}

func isSecret(fd protoreflect.FieldDescriptor) bool {
	o, ok := fd.Options().(*descriptorpb.FieldOptions)
	return ok && o.GetDebugRedact()
}

// secretName reports whether the name of an environment variable, an annotation or a header looks like that of a
// secret.
func secretName(name string) bool {
	n := strings.ReplaceAll(strings.ToUpper(name), "-", "_")
	for _, s := range []string{"PASSWORD", "PASSWD", "SECRET", "TOKEN", "CREDENTIAL", "AUTHORIZATION", "COOKIE", "PRIVATE_KEY", "API_KEY", "APIKEY", "ACCESS_KEY"} {
		if strings.Contains(n, s) {
			return true
		}
	}
	return false
}

func imageOf(req any) string {
	switch r := req.(type) {
	case *runtimeapi.PullImageRequest:
		return r.GetImage().GetImage()
	case *runtimeapi.ImageStatusRequest:
		return r.GetImage().GetImage()
	case *runtimeapi.RemoveImageRequest:
		return r.GetImage().GetImage()
	case *runtimeapi.CreateContainerRequest:
		return r.GetConfig().GetImage().GetUserSpecifiedImage()
	}
	return ""
}

func itemsOf(reply any) (n int, isList bool) {
	switch r := reply.(type) {
	case *runtimeapi.ListContainersResponse:
		return len(r.GetContainers()), true
	case *runtimeapi.ListPodSandboxResponse:
		return len(r.GetItems()), true
	case *runtimeapi.ListImagesResponse:
		return len(r.GetImages()), true
	case *runtimeapi.ListContainerStatsResponse:
		return len(r.GetStats()), true
	case *runtimeapi.ListPodSandboxStatsResponse:
		return len(r.GetStats()), true
	}
	return 0, false
}

// readable is a whole message for people.
type readable struct{ m proto.Message }

// MarshalJSON implements json.Marshaler.
func (r readable) MarshalJSON() ([]byte, error) { return render(r.m) }

// Readable renders a CRI message for people, without secrets; blank is as in [Redact].
func Readable(m proto.Message, blank func(string) string) json.Marshaler {
	return readable{Redact(m, blank)}
}
