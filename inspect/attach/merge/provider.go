package merge

import (
	"cmp"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// afterProvider is how soon after its credential provider has answered the kubelet says that it pulls.
const afterProvider = 50 * time.Millisecond

// provided finds the pod whose pull waited for a credential provider, whose run the kernel saw: the one that pulls right after it. Where more
// than one does, or none, it is the only pod that gets an image meanwhile. Else nobody knows.
func (m *Merger) provided(r *trace.Record) {
	w, ok := r.Event.(*trace.Wait)
	if !ok || r.Observer != trace.ObserverKernel || w.For != trace.WaitCredentials || r.Pod.Name != "" {
		return
	}
	begin := r.Start()
	after, during := soleThing{}, soleThing{}
	for _, t := range m.same.order {
		switch {
		case t.pod.Name == "" || t.imageOf() == "":
		case t.from >= r.Time-int64(r.Precision.Duration()) && t.from <= r.Time+int64(afterProvider):
			after.add(t)
		case t.from <= begin+int64(r.Precision.Duration()) && (t.to == 0 || t.to >= r.Time):
			during.add(t)
		}
	}
	t := after.only()
	if t == nil {
		t = during.only()
	}
	if t == nil {
		return
	}
	r.Pod, r.Trace = t.pod, t.trace
	if in := during.of(t.pod); in != nil {
		r.Parent = in.span
	}
	with := *w
	with.Target.Namespace = repository(m.imageFor(t.pod, begin, r.Time))
	r.Event, r.Also = &with, r.Also.With(t.begin.rec.Observer)
}

// imageFor is the image that a pod got while a provider ran. The runtime may begin its pull a little later.
func (m *Merger) imageFor(pod trace.Pod, from, to int64) string {
	for _, t := range m.same.order {
		if t.pod != pod || t.from > to+int64(apart) || t.to != 0 && t.to < from {
			continue
		}
		if name := t.imageOf(); name != "" && name != someImage {
			return name
		}
	}
	return someImage
}

// someImage is an image whose name is not known.
const someImage = "an image"

// imageOf is the image that a pod gets in a span; "" where it gets none.
func (t *thing) imageOf() string {
	if t.begin == nil {
		return ""
	}
	switch e := t.begin.rec.Event.(type) {
	case *trace.ImagePull:
		return e.Image
	case *trace.Action:
		if e.Verb == trace.VerbImage {
			return cmp.Or(e.Target, someImage)
		}
	}
	return ""
}

// repository is an image without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		image = image[:at]
	}
	return image
}

// soleThing are things, if they are of one pod.
type soleThing struct {
	all    []*thing
	others bool
}

func (s *soleThing) add(t *thing) {
	s.others = s.others || len(s.all) > 0 && s.all[0].pod != t.pod
	s.all = append(s.all, t)
}

// only is the last one, where all are of one pod: a pull is more than the action that it is part of.
func (s *soleThing) only() *thing {
	if s.others || len(s.all) == 0 {
		return nil
	}
	return s.all[len(s.all)-1]
}

// of is the first one of a pod.
func (s *soleThing) of(pod trace.Pod) *thing {
	for _, t := range s.all {
		if t.pod == pod {
			return t
		}
	}
	return nil
}
