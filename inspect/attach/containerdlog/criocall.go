package containerdlog

import (
	"cmp"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// noReason is the error of what failed for a reason that is not in CRI-O's log. A call has none then: the kubelet's log may have it.
const noReason = "CRI-O logs the reason only at its level debug"

// crioCall is what CRI-O's log tells of a call between its begin and its end.
type crioCall struct {
	// linking is when a CNI plugin began; 0 while none runs.
	linking int64
	// detailed says that the log is at debug, and so will have the call's error. trouble is the first error that is logged at any level.
	detailed bool
	trouble  string
}

// details takes in a line between a call's begin and its end.
func (f *Fold) details(l *Line) {
	c := f.pending[requestOf(l)]
	if c == nil {
		return
	}
	switch l.Level {
	case trace.LevelDebug:
		c.detailed = true
	case trace.LevelError:
		c.trouble = cmp.Or(c.trouble, trace.Clip(l.Msg, maxError))
	case trace.LevelInfo, trace.LevelWarn:
	}
}

// running is the RunPodSandbox of a pod that is known by its name; nil if none runs.
func (f *Fold) running(pod trace.Pod) *call {
	return f.pending[(&told{method: "RunPodSandbox", pod: trace.Pod{Namespace: pod.Namespace, Name: pod.Name}}).subject()]
}

// links is the begin of a CNI plugin that sets up a network of a pod.
func (f *Fold) links(t *told, at int64) {
	if c := f.running(t.pod); c != nil {
		c.linking = at
	}
}

// linked is its end.
func (f *Fold) linked(c *call, at int64, failed bool) {
	if c == nil || c.linking == 0 {
		return
	}
	e := &trace.RuntimeSpan{Name: trace.SpanPodNetwork, Service: "cri-o", Start: c.linking, Dur: time.Duration(at - c.linking)}
	if failed {
		e.Err = noReason
	}
	f.put(c.owner, at, trace.Record{Span: f.nextID(), Parent: c.span.id, Event: e})
	c.linking = 0
}

// learn takes in the UID of a pod that was known by its name. CRI-O logs it before and after each run of a CNI plugin.
func (f *Fold) learn(t *told, at int64) {
	c := f.running(t.pod)
	f.linked(c, at, false)
	p, owner := f.pods[t.pod.String()], f.boxes[t.sandbox]
	if p == nil || owner != nil && owner != p { // a sandbox of an earlier pod with this name
		return
	}
	switch {
	case p.id.UID == "" && !p.sealed:
		p.id.UID = t.pod.UID
	case p.id.UID != t.pod.UID && owner == nil && c != nil && c.owner != p.owner:
		f.another(c, t.pod)
	}
}

// another gives a RunPodSandbox to a new pod: the one with its name was an earlier pod.
func (f *Fold) another(c *call, id trace.Pod) {
	c.pod.busy--
	delete(f.pods, id.String())
	c.pod = f.named(id)
	f.pods[id.String()], c.owner.pod = c.pod, c.pod
	c.pod.busy++
	f.starting[c.pod] = true
}

// asks takes in for which pod an image is pulled. A line that names several pods, for example in an annotation, is not used.
func (f *Fold) asks(t *told, l *Line) {
	if strings.Count(l.Msg, "PodSandboxMetadata{") != 1 || t.request == "" {
		return
	}
	if len(f.asked) >= maxPending {
		clear(f.asked)
	}
	f.asked[t.request] = t.pod
}

// asker is the pod for which an image is pulled; nil if that is not known.
func (f *Fold) asker(request string) *pod {
	id, ok := f.asked[request]
	delete(f.asked, request)
	if p := f.pods[id.String()]; ok && p != nil && (p.id.UID == "" || p.id.UID == id.UID) {
		return p
	}
	return nil
}
