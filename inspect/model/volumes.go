package model

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The limits of a pod's volumes.
const (
	maxVolumes     = 128 // per pod
	maxVolumeCalls = 16  // CSI calls per volume
)

// Volume is the known state of one volume of a pod.
//
// Many fields: one for each thing that views show of it.
type Volume struct {
	Pod    trace.Pod
	Name   string // in the pod
	Plugin string // for example kubernetes.io/csi; "" if unknown
	Path   string
	// Mounted says that the last setup succeeded, without a teardown since.
	Mounted bool
	// Torn says that it was torn down.
	Torn bool
	// Op is the running or the last operation: setup, teardown, adopt, refresh, grow; "" if none was seen.
	Op        trace.VolumeOp
	Since     time.Time // when Op began; zero if unknown
	Dur       time.Duration
	Running   bool
	Uncertain bool // it may have ended unobserved
	Err       string
	// Unhealthy is what its CSI driver reports of its health; "" if that is nothing.
	Unhealthy string
	// Setup is the duration of the last successful setup; Refreshes and Errors count operations.
	Setup     time.Duration
	Refreshes int
	Errors    int
	// Progress is the progress of a change to all its files; nil if there is none.
	Progress   *trace.VolumeProgress
	ProgressAt time.Time
	// Waits are the current ones, oldest first; Waited are the durations of finished ones.
	Waits  []Wait
	Waited []WaitTotal
	// Calls are the last calls to its CSI driver, oldest first.
	Calls []VolumeCall
}

// VolumeCall is a call to a CSI driver for a volume.
type VolumeCall struct {
	trace.CSICall
	Begin   time.Time
	Dur     time.Duration
	Running bool
}

// State returns a volume's state in one word, for lists.
func (v *Volume) State() VolumeState {
	switch {
	case v.Running && len(v.Waits) > 0:
		return VolumeWaiting
	case v.Running && v.Op == trace.VolumeTeardown:
		return VolumeUnmounting
	case v.Running && v.Mounted:
		return VolumeState(v.Op)
	case v.Running:
		return VolumeMounting
	case v.Err != "":
		return VolumeFailed
	case len(v.Waits) > 0:
		return VolumeWaiting
	case v.Torn:
		return VolumeUnmounted
	case v.Mounted:
		return VolumeMounted
	}
	return VolumePending
}

// volume is a Volume being folded.
type volume struct {
	Volume
	span  trace.SpanID // of the running operation
	waits waits
	calls map[trace.SpanID]*VolumeCall
}

// Volumes returns the volumes of all pods that are not gone: pods in the order in which
// they were first seen, volumes by name.
func (m *Model) Volumes() []Volume {
	var out []Volume
	for _, p := range m.inOrder() {
		for _, name := range slices.Sorted(maps.Keys(p.volumes)) {
			out = append(out, p.volumes[name].view())
		}
	}
	return out
}

// inOrder returns the pods that are not gone, in the order in which they were first seen.
func (m *Model) inOrder() []*pod {
	found := make([]*pod, 0, len(m.pods))
	for _, p := range m.pods {
		if p.Gone.IsZero() {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *pod) int { return cmp.Compare(a.order, b.order) })
	return found
}

func (v *volume) view() Volume {
	out := v.Volume
	out.Waits, out.Waited = v.waits.now(), v.waits.over()
	out.Calls = slices.Clone(v.Calls)
	return out
}

func (p *pod) volume(name string) *volume {
	v := p.volumes[name]
	if v == nil && len(p.volumes) < maxVolumes {
		if p.volumes == nil {
			p.volumes = map[string]*volume{}
		}
		v = &volume{waits: newWaits(), calls: map[trace.SpanID]*VolumeCall{}}
		v.Pod, v.Name = p.Key, name
		p.volumes[name] = v
	}
	return v
}

// declared adds the volumes in a pod's spec.
func (p *pod) declared(spec *trace.PodSpec) {
	for _, name := range spec.Volumes {
		p.volume(name)
	}
}

func (m *Model) applyVolume(p *pod, r *trace.Record, e *trace.Volume) {
	v := p.volume(e.Name)
	if v == nil {
		return
	}
	v.Plugin, v.Path = cmp.Or(e.Plugin, v.Plugin), cmp.Or(e.Path, v.Path)
	v.Op, v.Since = e.Op, at(r.Start())
	if r.Edge == trace.EdgeBegin {
		v.Dur, v.Running, v.Uncertain, v.span = 0, true, false, r.Span
		v.Progress = nil
		id := r.Span
		m.begin(func() {
			if v.span == id {
				v.Running, v.span = false, 0
			}
		}, func() { v.Uncertain = true })
		return
	}
	m.end()
	v.Running, v.Uncertain, v.Dur, v.Err = false, false, r.Dur, e.Err
	switch {
	case e.Err != "":
		v.Errors++
	case e.Op == trace.VolumeTeardown:
		v.Mounted, v.Torn, v.Unhealthy = false, true, ""
	case e.Op == trace.VolumeRefresh:
		v.Refreshes++
	case e.Op != trace.VolumeGrow:
		v.Mounted, v.Torn, v.Setup = true, false, r.Dur
	}
}

// judge takes a decision about the health of a volume.
func (p *pod) judge(d *trace.Decision) {
	v := p.volumes[d.Volume]
	if v == nil || d.By != trace.ByVolumes {
		return
	}
	if v.Unhealthy = ""; d.Verdict == trace.VerdictUnhealthy {
		v.Unhealthy = d.Reason
	}
}

// within returns the volume of the operation that has a span, nil if there is none.
func (p *pod) within(parent trace.SpanID) *volume {
	if parent == 0 {
		return nil
	}
	for _, v := range p.volumes {
		if v.span == parent {
			return v
		}
		if _, ok := v.calls[parent]; ok {
			return v
		}
	}
	return nil
}

// waitsFor returns the volume of a wait: by its operation, or by name.
func (p *pod) waitsFor(r *trace.Record, e *trace.Wait) *volume {
	if v := p.within(r.Parent); v != nil {
		return v
	}
	if k := e.Target.Kind; k == trace.TargetVolume || k == trace.TargetClaim || k == trace.TargetPodCertificate {
		return p.volumes[e.Target.Name]
	}
	return nil
}

func (m *Model) applyCSICall(p *pod, r *trace.Record, e *trace.CSICall) {
	v := p.within(r.Parent)
	if v == nil {
		return
	}
	if r.Edge == trace.EdgeBegin {
		c := &VolumeCall{CSICall: *e, Begin: r.At(), Running: true}
		v.Calls = append(v.Calls, *c)
		v.Calls = v.Calls[max(len(v.Calls)-maxVolumeCalls, 0):]
		v.calls[r.Span] = c
		id := r.Span
		m.begin(func() { v.ended(id, c) }, nil)
		return
	}
	if c := v.calls[r.Span]; c != nil {
		c.CSICall, c.Dur = *e, r.Dur
	} else {
		v.Calls = append(v.Calls, VolumeCall{CSICall: *e, Begin: at(r.Start()), Dur: r.Dur})
		v.Calls = v.Calls[max(len(v.Calls)-maxVolumeCalls, 0):]
	}
	m.end()
}

// ended sets the result of a call in the list.
func (v *volume) ended(id trace.SpanID, c *VolumeCall) {
	delete(v.calls, id)
	c.Running = false
	for i := range v.Calls {
		if o := &v.Calls[i]; o.Running && o.Begin.Equal(c.Begin) && o.Method == c.Method {
			*o = *c
			return
		}
	}
}

func (p *pod) volumeProgress(r *trace.Record, e *trace.VolumeProgress) {
	if v := p.within(r.Parent); v != nil {
		v.Progress, v.ProgressAt = e, r.At()
	}
}
