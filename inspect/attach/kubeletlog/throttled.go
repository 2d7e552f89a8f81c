package kubeletlog

import (
	"net/url"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// waitedFor is a request that waited, as client-go wrote it until Kubernetes 1.32.
var waitedFor = pattern.New(`^Waited for ([0-9.a-zµ]{1,20}) due to (client-side throttling|server-side retry)[^:]*: ?([A-Z]{3,6}):(\S{1,1000})`)

// throttled is a request that waited for the client's own limit.
func (f *Fold) throttled(e *klog.Entry, at int64) bool {
	return f.waited(at, waited{delay: e.Get("delay"), verb: e.Get("verb"), asked: e.Get("URL")}, e.Get("reason"))
}

func (f *Fold) throttledText(e *klog.Entry, at int64) bool {
	m := waitedFor.FindStringSubmatch(e.Msg)
	return m != nil && f.waited(at, waited{delay: m[1], verb: m[3], asked: m[4]}, m[2])
}

// waited is a request that waited, as a line has it.
type waited struct{ delay, verb, asked string }

// twice is the time within which client-go writes a line of a long wait once more, from V3 on.
const twice = 10 * time.Millisecond

func (f *Fold) waited(at int64, w waited, reason string) bool {
	d, err := time.ParseDuration(w.delay)
	if err != nil || d <= 0 || d > time.Hour || strings.Contains(reason, "server-side") {
		return false
	}
	n := &f.node
	if len(w.asked) <= maxURL {
		same := w == n.waited && at-n.waitedAt < int64(twice)
		if n.waited, n.waitedAt = w, at; same {
			return true
		}
	}
	pod, object := requested(w.asked)
	e := &trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetClient, Name: "main"}, Request: object}
	if pod != "" { // it is the status manager's: a start does not wait for it
		e.Target = trace.Target{Kind: trace.TargetStatus}
	}
	f.was(f.pods.byName[pod], nil, at-int64(d), at, micros, e)
	return true
}

// maxURL bounds the URLs that are read: names of objects have 253 bytes, and a list or watch has some options.
const maxURL = 2 << 10

// requested is what a request is for, by its URL: a pod, as namespace/name, or an object of a namespace. A list or watch of a single object has its name
// in the field selector. The kubelet wrote the URL: it has names that users of the cluster chose.
func requested(asked string) (pod string, object trace.Target) {
	if len(asked) > maxURL {
		return "", object
	}
	u, err := url.Parse(asked)
	if err != nil {
		return "", object
	}
	_, path, ok := strings.Cut(u.Path, "/api/v1/namespaces/")
	if !ok {
		return "", object
	}
	parts := append(strings.Split(path, "/"), "", "", "")
	object = trace.Target{Namespace: parts[0], Name: parts[2]}
	if object.Name == "" {
		object.Name, _ = strings.CutPrefix(u.Query().Get("fieldSelector"), "metadata.name=")
	}
	switch resource, of := parts[1], parts[3]; {
	case resource == "pods" && object.Name != "":
		return object.Namespace + "/" + object.Name, trace.Target{}
	case resource == "secrets":
		object.Kind = trace.TargetSecret
	case resource == "configmaps":
		object.Kind = trace.TargetConfigMap
	case resource == "persistentvolumeclaims":
		object.Kind = trace.TargetClaim
	case resource == "serviceaccounts" && of == "token":
		object.Kind = trace.TargetToken
	}
	if object.Kind == "" || object.Namespace == "" || object.Name == "" || strings.ContainsAny(object.Name, ",=") {
		return "", trace.Target{}
	}
	return "", object
}
