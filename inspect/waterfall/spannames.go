package waterfall

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Names that dominant and transparent use.
const (
	spanUnpackAll = "pkg.unpack.unpacker.unpack"
	spanSandbox   = "cri.sandbox.run"
	spanHandler   = "pkg.unpack.unpacker.UnpackHandler"
	spanFetch     = "pkg.unpack.unpacker.fetchLayer"
	spanRequest   = "remotes.docker.resolver.HTTPRequest"
	spanNamespace = "setup pod network … metadata.sandbox.Update"
	criPrefix     = "runtime.v1." // the runtime's own view of a CRI call
	pluginPrefix  = trace.SpanCNIPlugin
	labelFetch    = "fetch layer"
	labelArrived  = "until layer arrived"
	labelUnpack   = "unpack layer"
)

// Topic is the subject of a runtime's span.
type Topic string

// The topics.
const (
	TopicCNI       Topic = "cni"
	TopicNamespace Topic = "network-namespace"
	TopicUnpack    Topic = "unpack"
	TopicFetch     Topic = "fetch"
	TopicRegistry  Topic = "registry"
	TopicTask      Topic = "task"
	TopicShim      Topic = "shim"
)

// spanNames are labels and topics of containerd's spans, as of 2.4.
var spanNames = map[string]struct {
	label string
	topic Topic
}{
	spanSandbox:                       {"run sandbox", ""},
	spanNamespace:                     {"network namespace", TopicNamespace},
	trace.SpanPodNetwork:              {"CNI setup", TopicCNI},
	"cni.Setup":                       {"CNI setup", TopicCNI},
	"cni.SetupSerially":               {"CNI setup", TopicCNI},
	"cni.asynchAttach":                {"CNI ADD", TopicCNI},
	"cni.attachNetworksSerially":      {"CNI ADD", TopicCNI},
	"cni.Remove":                      {"CNI DEL", TopicCNI},
	"client.NewContainer":             {"make container", ""},
	"metadata.containers.Create":      {"store container", ""},
	"metadata.sandbox.Create":         {"store sandbox", ""},
	"metadata.sandbox.Update":         {"store sandbox", ""},
	"container.NewTask":               {"make task", TopicTask},
	"containerd.task.v3.Task/Create":  {"shim creates task", TopicTask},
	"containerd.task.v3.Task/Start":   {"shim starts task", TopicTask},
	"containerd.task.v3.Task/Connect": {"shim connects", TopicShim},
	"client.task.Start":               {"start task", TopicTask},
	trace.SpanLayerArrived:            {labelArrived, TopicFetch},
	trace.SpanLayerUnpacked:           {labelUnpack, TopicUnpack},
	"pull.Pull":                       {"pull", ""},
	"pull.fetch":                      {"fetch", TopicFetch},
	"pull.UnpackWait":                 {"wait for unpacking", TopicUnpack},
	spanFetch:                         {labelFetch, TopicFetch},
	"pkg.unpack.unpacker.unpackLayer": {labelUnpack, TopicUnpack},
	spanUnpackAll:                     {"fetch and unpack", TopicUnpack},

	"remotes.docker.resolver.FetchToken":          {"registry token", TopicRegistry},
	"remotes.docker.resolver.FetchTokenWithOAuth": {"registry token", TopicRegistry},
}

// topicOf returns the topic of a runtime's span; "" if unknown.
func topicOf(e *trace.RuntimeSpan) Topic {
	switch {
	case e.Name == spanHandler:
		return TopicFetch
	case e.Name == spanRequest:
		return TopicRegistry
	case strings.HasPrefix(e.Name, pluginPrefix):
		return TopicCNI
	}
	return spanNames[e.Name].topic
}

// spanName returns the label of a runtime's span, and its detail. An unknown name is unchanged.
func spanName(e *trace.RuntimeSpan) (label, detail string) {
	switch e.Name {
	case "cni.asynchAttach", "cni.attachNetworksSerially":
		detail = strings.TrimSpace(attr(e, "cni.ifname") + " of " + attr(e, "cni.name"))
	case spanFetch, "pkg.unpack.unpacker.unpackLayer", trace.SpanLayerArrived:
		detail = digest(attr(e, trace.AttrLayerDigest))
	case spanHandler:
		return "fetch " + mediaType(attr(e, "descriptor.media.type")), digest(attr(e, "descriptor.digest"))
	case spanRequest:
		return registryRequest(e)
	}
	if plugin, ok := strings.CutPrefix(e.Name, pluginPrefix); ok {
		return "CNI plugin " + plugin, strings.TrimSpace(attr(e, "cni.command") + " " + attr(e, "cni.ifname"))
	}
	if strings.HasPrefix(e.Name, criPrefix) {
		return "serve the call", detail
	}
	return cmp.Or(spanNames[e.Name].label, e.Name, "unnamed"), detail
}

// registryRequest returns the label of a request to a registry. A HEAD for a manifest resolves a tag.
func registryRequest(e *trace.RuntimeSpan) (label, detail string) {
	method, url := attr(e, "http.request.method", "http.method"), attr(e, "url.full", "http.url")
	what := path.Base(path.Dir(url))
	detail = digest(path.Base(url))
	if method == "HEAD" && what == "manifests" {
		if image := path.Base(path.Dir(path.Dir(url))); detail == path.Base(url) { // a tag
			detail = image + ":" + detail
		}
		return "resolve", detail
	}
	if what != "manifests" && what != "blobs" {
		return strings.TrimSpace("registry " + method), detail
	}
	return strings.TrimSpace("registry " + method + " " + strings.TrimSuffix(what, "s")), detail
}

// spanNote returns the size of the object, and the runtime's own name of the span.
func spanNote(e *trace.RuntimeSpan) string {
	note := "(" + e.Name + ")"
	if n, err := strconv.ParseInt(attr(e, trace.AttrLayerSize), 10, 64); err == nil && n > 0 {
		note = human.Bytes(n) + " " + note
	}
	return note
}

// attr returns the first of the attributes that the span has.
func attr(e *trace.RuntimeSpan, names ...string) string {
	for _, name := range names {
		for _, kv := range e.Attrs {
			if kv.K == name {
				return kv.V
			}
		}
	}
	return ""
}

// digest cuts a digest to 12 digits.
func digest(s string) string {
	s = strings.TrimPrefix(s, "sha256:")
	return short(s)
}

func mediaType(s string) string {
	for _, kind := range []string{"manifest", "config", "index"} {
		if strings.Contains(s, "."+kind+".") || strings.HasSuffix(s, "+"+kind) {
			return kind
		}
	}
	return "object"
}
