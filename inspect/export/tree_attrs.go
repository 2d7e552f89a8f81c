package export

import (
	"slices"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/kubeloupe/kubeloupe/trace"
)

// attributes are an event's fields, under our names, and under those of OpenTelemetry's semantic conventions 1.43 where these have one.
func attributes(e trace.Event) []*commonpb.KeyValue {
	prefix, attrs := "kubeloupe.", []*commonpb.KeyValue{attr("kubeloupe.kind", e.Kind().String())}
	if _, ok := e.(*trace.RuntimeSpan); ok {
		prefix = "" // its attributes are what the runtime named them
	}
	for _, f := range fieldsOf(e) {
		attrs = append(attrs, attr(prefix+f.name, f.value))
	}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attr(key, limit(value)))
		}
	}
	call := func(method, code string) {
		add(string(semconv.RPCSystemNameKey), "grpc")
		add(string(semconv.RPCMethodKey), method)
		add(string(semconv.RPCResponseStatusCodeKey), code)
		if code != "OK" {
			add(string(semconv.ErrorTypeKey), code)
		}
	}
	switch e := e.(type) {
	case *trace.CRICall:
		call(serviceOfCRI(e.Method)+"/"+e.Method, e.Code)
		add(string(semconv.ContainerIDKey), e.Container)
		add(string(semconv.ContainerImageNameKey), e.Image)
	case *trace.CSICall:
		if e.Flex || e.Program {
			break
		}
		call("csi.v1.Node/"+e.Method, e.Code)
		add(string(semconv.ContainerCSIPluginNameKey), e.Driver)
	case *trace.ImagePull:
		add(string(semconv.ContainerImageNameKey), e.Image)
	case *trace.Action:
		add(string(semconv.K8SContainerNameKey), e.Container)
	case *trace.Volume:
		add(string(semconv.K8SVolumeNameKey), e.Name)
	case *trace.ProbeAttempt:
		add(string(semconv.K8SContainerNameKey), e.Container)
		add(string(semconv.ContainerIDKey), e.ContainerID)
	case *trace.APICall:
		if e.Code != 0 {
			attrs = append(attrs, attr(string(semconv.HTTPResponseStatusCodeKey), int64(e.Code)))
		}
	}
	return attrs
}

// serviceOfCRI returns the gRPC service of a method of the CRI.
func serviceOfCRI(method string) string {
	if slices.Contains([]string{"ListImages", "ImageStatus", "PullImage", "RemoveImage", "ImageFsInfo"}, method) {
		return "runtime.v1.ImageService"
	}
	return "runtime.v1.RuntimeService"
}

// seenAttrs say who observed something and how exactly the times are known, where that is not the agent itself.
func seenAttrs(e trace.Event, s seen) (out []*commonpb.KeyValue) {
	if s.by != e.Kind().Observer() {
		out = append(out, attr("kubeloupe.observer", s.by.String()))
	}
	if s.also != 0 {
		out = append(out, attr("kubeloupe.observed_also_by", s.also.String()))
	}
	if s.precision != 0 {
		out = append(out, attr("kubeloupe.precision_us", int64(s.precision)))
	}
	return out
}
