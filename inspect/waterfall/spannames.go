package waterfall

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// What dominant and transparent ask for by name.
const (
	spanUnpackAll = "pkg.unpack.unpacker.unpack"
	spanSandbox   = "cri.sandbox.run"
	spanHandler   = "pkg.unpack.unpacker.UnpackHandler"
	spanFetch     = "pkg.unpack.unpacker.fetchLayer"
	spanRequest   = "remotes.docker.resolver.HTTPRequest"
	spanNamespace = "setup pod network … metadata.sandbox.Update"
	criPrefix     = "runtime.v1." // the runtime's own view of a CRI call
	pluginPrefix  = "cni.plugin." // inspect/otlp's, of a CNI plugin's run
	labelFetch    = "fetch layer"
	labelUnpack   = "unpack layer"
)

// spanLabels are words for containerd's spans, as of 2.4.
var spanLabels = map[string]string{
	spanSandbox:                       "run sandbox",
	spanNamespace:                     "network namespace",
	"cni.setup_pod_network":           "CNI setup",
	"cni.Setup":                       "CNI setup",
	"cni.SetupSerially":               "CNI setup",
	"cni.asynchAttach":                "CNI ADD",
	"cni.attachNetworksSerially":      "CNI ADD",
	"cni.Remove":                      "CNI DEL",
	"client.NewContainer":             "make container",
	"metadata.containers.Create":      "store container",
	"metadata.sandbox.Create":         "store sandbox",
	"metadata.sandbox.Update":         "store sandbox",
	"container.NewTask":               "make task",
	"containerd.task.v3.Task/Create":  "shim creates task",
	"containerd.task.v3.Task/Start":   "shim starts task",
	"containerd.task.v3.Task/Connect": "shim connects",
	"client.task.Start":               "start task",
	"pull.Pull":                       "pull",
	"pull.fetch":                      "fetch",
	"pull.UnpackWait":                 "wait for unpacking",
	spanFetch:                         labelFetch,
	"pkg.unpack.unpacker.unpackLayer": labelUnpack,
	spanUnpackAll:                     "fetch and unpack",

	"remotes.docker.resolver.FetchToken":          "registry token",
	"remotes.docker.resolver.FetchTokenWithOAuth": "registry token",
}

// spanName says in words what a runtime's span is, and of what. A name that is not known stays.
func spanName(e *trace.RuntimeSpan) (label, detail string) {
	switch e.Name {
	case "cni.asynchAttach", "cni.attachNetworksSerially":
		detail = strings.TrimSpace(attr(e, "cni.ifname") + " of " + attr(e, "cni.name"))
	case spanFetch, "pkg.unpack.unpacker.unpackLayer":
		detail = digest(attr(e, "layer.media.digest"))
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
	return cmp.Or(spanLabels[e.Name], e.Name, "unnamed"), detail
}

// registryRequest names a request to a registry. A HEAD for a manifest is how a tag is resolved.
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

// spanNote is the size of what was handled, and the runtime's own name of the span.
func spanNote(e *trace.RuntimeSpan) string {
	note := "(" + e.Name + ")"
	if n, err := strconv.ParseInt(attr(e, "layer.media.size"), 10, 64); err == nil && n > 0 {
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

// digest cuts a digest to the 12 digits that people compare.
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
