package kubeletlog

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Upstream's volume manager looks at the pods' volumes again and again.
const (
	reconcilerPeriod = 100 * time.Millisecond // operationExecutor's reconciler and the populator
	volumesPeriod    = 300 * time.Millisecond // a worker that waits for its pod's volumes
)

// volumeLine is a message about one volume: what is done for volume "name" (UniqueName: "plugin/id") pod "name" (UID: "uid").
var volumeLine = pattern.New(`^([A-Za-z.]{1,60}(?: [a-z]{1,20}){0,2}) for volume "([^"]+)"(?: \((UniqueName|OuterVolumeSpecName): "([^"]+)"\))?(?: pod "([^"]+)" \(UID: "([-0-9a-zA-Z]{1,64})"\))?`)

// inner is the volume's name in the pod, where a teardown has another one.
var inner = pattern.New(`InnerVolumeSpecName "([^"]{1,253})"\. PluginName "([^"]{1,253})"`)

// failedOperation is a volume's operation that failed, and is not tried again for a time.
var failedOperation = pattern.New(`^Operation for "(.+?)" failed\. No retries permitted until (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) ([-+]\d{4}) \S* ?(?:m=\S+ )?\(durationBeforeRetry ([0-9a-zµ.]{1,20})\)\.\s+Error: "?(.*)`)

// text takes in messages that hold names; it reports whether the entry is told of completely.
func (f *Fold) text(e *klog.Entry, at int64) bool {
	msg := e.Msg
	switch {
	case strings.HasPrefix(msg, "Operation for "):
		return f.operationFailed(firstOf(e.Get("err"), msg), at)
	case strings.HasPrefix(e.Get("err"), "Operation for "):
		return f.operationFailed(e.Get("err"), at)
	case strings.HasPrefix(msg, "Setting volume ownership for "):
		return f.ownershipChanges(msg, at)
	case strings.HasPrefix(msg, "Waited for "):
		return f.throttledText(e, at)
	case strings.Contains(msg, " service failed") || strings.HasPrefix(msg, "Stream") && strings.HasSuffix(msg, " recv failed"):
		return f.runtimeCalled(e, at)
	case orphanUID.MatchString(msg):
		return f.orphan(e, at)
	}
	m := volumeLine.FindStringSubmatch(msg)
	if m == nil {
		return false
	}
	name, plugin, uid := m[2], pluginOf(m[4]), m[6]
	if m[3] == "OuterVolumeSpecName" { // until 1.34: the unique name comes first
		name, plugin = m[4], pluginOf(m[2])
	}
	if p := f.pods.byUID[uid]; p != nil && p.id.Namespace == noNamespace {
		f.named(e.Get("pod"), uid)
	}
	p := f.podBy(e, uid)
	if p == nil {
		if p = f.ofUID(uid); p == nil && m[5] != "" && m[5] != uid {
			return false // of a pod of which only the name is known, not the namespace
		}
	}
	switch m[1] {
	case "operationExecutor.VerifyControllerAttachedVolume started":
		return f.verify(p, name, plugin, uid, at)
	case "Controller attach succeeded":
		return f.attached(p, name, at)
	case "operationExecutor.MountVolume started":
		f.saw(1)
		return f.mountBegins(p, name, plugin, at)
	case "MountVolume.WaitForAttach entering", "MapVolume.WaitForAttach entering":
		return f.waitsForAttach(p, name, plugin, at)
	case "MountVolume.WaitForAttach succeeded", "MapVolume.WaitForAttach succeeded":
		return f.isAttached(p, name, at)
	case "MountVolume.MountDevice succeeded":
		return f.isStaged(p, name, at)
	case "MountVolume.SetUp succeeded", "MountVolume.MapVolume succeeded":
		f.saw(1)
		return f.mountEnds(p, name, at)
	case "MapVolume.MapPodDevice succeeded": // of a raw block volume: V4's line before has globalMapPath
		if !strings.HasPrefix(strings.TrimLeft(msg[len(m[0]):], " "), "volumeMapPath ") {
			return false
		}
		f.saw(1)
		return f.mountEnds(p, name, at)
	case "operationExecutor.UnmountVolume started":
		if p == nil {
			p = f.unnamed(uid)
		}
		return f.tearBegins(p, name, plugin, at)
	case "UnmountVolume.TearDown succeeded", "UnmapVolume succeeded":
		if p == nil {
			p = f.unnamed(uid)
		}
		shown := name
		if in := inner.FindStringSubmatch(msg); in != nil {
			shown = in[1]
		}
		return f.tearEnds(p, name, shown, at)
	}
	return false
}

// pluginOf is the plugin in a volume's unique name: kubernetes.io/configmap/UID-config.
func pluginOf(unique string) string {
	first, rest, _ := strings.Cut(unique, "/")
	second, _, _ := strings.Cut(rest, "/")
	if first != "kubernetes.io" || second == "" {
		return ""
	}
	return first + "/" + second
}

// verify is the reconciler's look at a volume: the controller attaches some, and the others go on at its next look.
func (f *Fold) verify(p *pod, name, plugin, uid string, at int64) bool {
	if p == nil {
		return false
	}
	f.pods.learn(p, uid)
	f.resolves(p, name, plugin, at)
	p.fresh = true
	if p.firstVolume == 0 && !p.started {
		p.firstVolume = at
		if p.volumes == nil {
			p.later = &span{id: f.nextID(), from: at, pod: p}
			if f.level < 3 && p.asked != 0 && at-p.asked <= int64(volumesPeriod) {
				p.later.from = p.asked
				f.poll(p, p.later, p.asked, at, reconcilerPeriod)
			}
		}
		if p.volumes != nil && at-p.volumes.from <= int64(volumesPeriod) {
			f.poll(p, p.above(), p.volumes.from, at, reconcilerPeriod)
		}
	}
	v := p.volume(name, plugin)
	if v.verified == 0 {
		v.verified = at
	}
	if w := p.waits["volume "+name]; w != nil {
		f.end(w, at, micros, nil)
		delete(p.waits, "volume "+name)
	}
	return true
}

// poll is time until upstream's volume manager looks again.
func (f *Fold) poll(p *pod, parent *span, from, to int64, every time.Duration) {
	if to-from < int64(time.Millisecond) {
		return
	}
	f.was(p, parent, from, to, micros, &trace.Wait{For: trace.WaitPoll, Target: trace.Target{Kind: trace.TargetVolumeManager}, Every: every})
}

// attached is the controller's attachment of a volume that was waited for. Since Kubernetes 1.20, the kubelet writes that it looks at a volume
// when the node's status has the attachment: it waited for that since it waits for the pod's volumes, or since it looked at the first of
// them.
func (f *Fold) attached(p *pod, name string, at int64) bool {
	if p == nil {
		return false
	}
	v := p.volume(name, "")
	if v.attach == nil && v.verified != 0 {
		from := v.verified
		switch looks := int64(volumesPeriod); {
		case p.started:
		case p.volumes != nil && from-p.volumes.from > looks:
			from = p.volumes.from
		case p.volumes == nil && p.asked != 0 && from-p.asked > looks: // V2's line before the wait
			from = p.asked
		case p.volumes == nil && p.firstVolume != 0 && from-p.firstVolume > looks:
			from = p.firstVolume
		}
		if p.later != nil && p.later.event == nil {
			p.later.from = min(p.later.from, from)
		}
		if from < at {
			f.was(p, p.above(), from, at, micros, attachWait(name, ""))
		}
	}
	f.end(v.attach, at, micros, nil)
	v.attach, v.verified = nil, 0
	return true
}

func attachWait(name, err string) *trace.Wait {
	return &trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: name}, Cause: err, Class: trace.Classify(err)}
}

func (f *Fold) mountBegins(p *pod, name, plugin string, at int64) bool {
	if p == nil {
		return false
	}
	f.resolves(p, name, plugin, at)
	v := p.volume(name, plugin)
	f.end(v.attach, at, micros, nil)
	if v.verified != 0 && v.attach == nil && at-v.verified <= int64(2*reconcilerPeriod) && !p.started {
		f.poll(p, p.above(), v.verified, at, reconcilerPeriod)
	}
	v.attach, v.verified = nil, 0
	f.endWaits(p, at, func(key string) bool { return key == "volume "+name })
	if v.mount == nil {
		v.mount = f.begin(p, p.above(), at, &trace.Volume{Op: trace.VolumeSetup, Name: name, Plugin: v.plugin})
	}
	if p.volumes == nil && p.later != nil && p.later.event == nil && f.level < 3 {
		f.pods.mounting[p] = true
	}
	return true
}

// slowMount is how long volumes take until their action is told of before it has ended: what is told of later cannot begin as long ago.
const slowMount = settle - 5*time.Second

// slowMounts tells of the actions of pods' volumes that take long, where the log has no line of their begin. It is called before the time
// goes on to now.
func (f *Fold) slowMounts(now int64) {
	for _, p := range inOrder(f.pods.mounting) {
		f.slowMount(p, now)
	}
}

func (f *Fold) slowMount(p *pod, now int64) {
	switch {
	case p.later == nil || p.later.event != nil || p.volumes != nil || p.ending:
		delete(f.pods.mounting, p)
	case now-p.later.from >= int64(slowMount):
		delete(f.pods.mounting, p)
		if slices.ContainsFunc(slices.Collect(maps.Values(p.vols)), func(v *volume) bool { return v.mount != nil }) {
			f.laterBegins(p)
		}
	}
}

// laterBegins makes the record of the begin of the volumes' action.
func (f *Fold) laterBegins(p *pod) {
	p.later.event = &trace.Action{ID: "volumes", Verb: trace.VerbVolumes}
	f.put(p, max(p.later.from, f.last-int64(f.out.Hold)+int64(jitter)), micros, trace.Record{Edge: trace.EdgeBegin, Span: p.later.id, Event: p.later.event})
}

func (f *Fold) mountEnds(p *pod, name string, at int64) bool {
	if p == nil {
		return false
	}
	v := p.volume(name, "")
	if v.mount == nil {
		return p.started // again and again, of volumes whose objects change
	}
	f.end(v.mount, at, micros, nil)
	v.mount = nil
	p.mounted = at
	return true
}

// operationFailed is an operation on a volume that failed: what failed, and the wait until it is tried again.
func (f *Fold) operationFailed(text string, at int64) bool {
	m := failedOperation.FindStringSubmatch(trace.Clip(text, maxError))
	if m == nil {
		return false
	}
	err := strings.TrimSuffix(unquoted(m[5]), `"`)
	name, unique, podName, uid := "", "", "", ""
	if of := regexpVolume.FindStringSubmatch(err); of != nil {
		name, unique, podName, uid = of[1], of[3], of[4], of[5]
		if of[2] != "UniqueName" { // before 1.6
			name, unique = unique, name
		}
		name = firstOf(name, unique) // one that the kubelet found at its start has no name
	}
	if u := podInOperation.FindStringSubmatch(m[1]); uid == "" && u != nil {
		uid = u[1]
	}
	p := f.unnamedAs(uid, podName)
	if p == nil || name == "" {
		return false
	}
	v := p.volume(name, pluginOf(unique))
	wait := &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetVolume, Name: name}, Cause: err, Class: trace.Classify(err)}
	wait.Until = untilOf(m, at)
	v.tries++
	wait.Tries = v.tries
	key := "volume " + name
	f.endWaits(p, at, func(k string) bool { return k == key || k == attachKey+name })
	switch {
	case strings.HasPrefix(err, "Unm") || strings.HasPrefix(err, "unm"):
		f.tearFailed(p, v, at, err)
		return true
	case strings.Contains(err, "VolumesInUse") || strings.Contains(err, "not attached according to node status") || strings.Contains(err, "volume attachment is being deleted"):
		if v.attach == nil { // the whole time until the controller has done its part is one wait
			from := firstTime(v.verified, at)
			v.attach = f.beginAt(p, p.above(), from, attachWait(name, err))
		}
		return true
	}
	failed := &trace.Volume{Op: trace.VolumeSetup, Name: name, Plugin: v.plugin, Err: err, Class: trace.Classify(err)}
	if v.mount != nil {
		f.end(v.mount, at, micros, failed)
		v.mount = nil
	} else {
		f.was(p, p.above(), at, at, micros, failed)
	}
	if len(p.waits) < maxWaits {
		p.waits[key] = f.begin(p, p.above(), at, wait)
	}
	f.pods.retrying[p] = true
	return true
}

// untilOf is until when an operation that failed is not tried again: the time that the line has, or, where the log's year or zone is not
// known, what its delay makes of the line's own time.
func untilOf(m []string, at int64) int64 {
	delay, err := time.ParseDuration(m[4])
	if err != nil || delay <= 0 || delay > 24*time.Hour {
		return 0
	}
	told, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", m[2]+" "+m[3])
	if off := told.UnixNano() - at - int64(delay); err == nil && max(off, -off) < int64(time.Minute) {
		return told.UnixNano()
	}
	return at + int64(delay)
}

// retried ends the waits for tries that the log says the time of, where nothing failed again: at the lowest levels no line tells of a try.
func (f *Fold) retried(p *pod, now int64) {
	left := false
	for _, key := range slices.Sorted(maps.Keys(p.waits)) {
		s := p.waits[key]
		w, ok := s.event.(*trace.Wait)
		switch {
		case !ok || w.Until == 0:
		case now-w.Until > int64(2*time.Second):
			f.end(s, w.Until, reconcilerPeriod, nil)
			delete(p.waits, key)
		default:
			left = true
		}
	}
	if !left {
		delete(f.pods.retrying, p)
	}
}

var (
	regexpVolume   = pattern.New(`(?:for volume|^Volume) "([^"]*)" \(((?:volume\.)?spec\.Name|UniqueName): "([^"]+)"\) pod "([^"]+)" \(UID: "([-0-9a-zA-Z]{1,64})"\)`)
	podInOperation = pattern.New(`podName:([-0-9a-f]{8,64})`)
)

func firstTime(a, b int64) int64 {
	if a != 0 {
		return a
	}
	return b
}

// beginAt is begin at a time that has passed.
func (f *Fold) beginAt(p *pod, parent *span, from int64, e trace.Event) *span {
	return f.begin(p, parent, max(from, f.last-int64(f.out.Hold)+int64(jitter)), e)
}

func (f *Fold) volumesBegin(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	if p.volumes == nil {
		p.volumes, p.mounted, p.firstVolume = f.begin(p, p.sync, at, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes}), 0, 0
	}
	return true
}

func (f *Fold) volumesEnd(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil || p.volumes == nil {
		return false
	}
	if p.mounted > p.volumes.from && at-p.mounted <= int64(volumesPeriod) {
		f.poll(p, p.above(), p.mounted, at, volumesPeriod)
	}
	f.end(p.volumes, at, micros, nil)
	p.volumes = nil
	return true
}

// volumesDone makes an action of a pod's volumes where the log has lines about single volumes alone, as at V2.
func (f *Fold) volumesDone(p *pod, at int64) {
	f.mountsDone(p, at)
	if p.later != nil && p.mounted > p.firstVolume && f.level < 3 {
		p.later.event, p.later.precision = &trace.Action{ID: "volumes", Verb: trace.VerbVolumes}, micros
		f.end(p.later, p.mounted, micros, nil)
	}
	if p.volumes == nil {
		p.firstVolume, p.mounted, p.later = 0, 0, nil
	}
}

// volumesMounted ends the action of a pod's volumes at V2. A pass has two lines there that it found no sandbox: one before it waits for the volumes
// (status/generate.go), and one right after that (kuberuntime_manager.go). So what is around the mounts are the volume manager's polls.
func (f *Fold) volumesMounted(p *pod, at int64) {
	mounting := slices.ContainsFunc(slices.Collect(maps.Values(p.vols)), func(v *volume) bool { return v.mount != nil })
	if f.level >= 3 || p.asked == 0 || p.later == nil || p.volumes != nil || p.started || mounting || p.mounted <= p.firstVolume || at-p.mounted > int64(volumesPeriod) {
		return // it may be a line of another pass
	}
	p.later.event = &trace.Action{ID: "volumes", Verb: trace.VerbVolumes}
	f.poll(p, p.later, p.mounted, at, volumesPeriod)
	f.end(p.later, at, micros, nil)
	p.asked, p.firstVolume, p.mounted, p.later = 0, 0, 0, nil
}

// above is the action that a pod's volumes are part of: one that has begun, or one that is told of when its end is known.
func (p *pod) above() *span {
	if p.volumes != nil {
		return p.volumes
	}
	return p.later
}

func (f *Fold) volumesFailed(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	f.volumesErr(p, at, trace.Clip(e.Get("err"), maxError))
	return true
}

// volumesErr is a wait for a pod's volumes that was given up.
func (f *Fold) volumesErr(p *pod, at int64, err string) {
	if p.volumes == nil && p.volumesAt != 0 && at-p.volumesAt < int64(100*time.Millisecond) {
		return // told already
	}
	p.volumesAt = at
	a := &trace.Action{ID: "volumes", Verb: trace.VerbVolumes, Err: err, Class: p.classOfVolumes(err)}
	if p.volumes != nil {
		f.end(p.volumes, at, micros, a)
		p.volumes = nil
		return
	}
	f.was(p, p.sync, at, at, micros, a)
}

// unmounted are the volumes that a wait was given up for, timedOut says that nothing else is known.
var (
	unmounted = pattern.New(`unmounted volumes=\[([^\]]{0,1000})\]`)
	timedOut  = pattern.New(`timed out waiting for the condition|timeout expired waiting|context deadline exceeded`)
)

// classOfVolumes is FailDeadline where storage did not come in time. The volumes that kubelets make of objects are none: those that the
// kubelet adds for a service account are known by their names.
func (p *pod) classOfVolumes(err string) trace.FailureClass {
	class := trace.Classify(err)
	m := unmounted.FindStringSubmatch(err)
	if m == nil || class != "" && class != trace.FailDeadline || !timedOut.MatchString(err) {
		return class
	}
	for name := range strings.FieldsSeq(m[1]) {
		v := p.vols[strings.TrimSuffix(name, ",")]
		if strings.HasPrefix(name, "kube-api-access-") || strings.Contains(name, "-token-") || v != nil && v.plugin != "" && ofObjects(v.plugin) {
			continue
		}
		return trace.FailDeadline
	}
	return ""
}

// ofObjects reports whether a plugin makes volumes of objects of the API server.
func ofObjects(plugin string) bool {
	switch plugin {
	case "kubernetes.io/configmap", "kubernetes.io/secret", "kubernetes.io/projected", "kubernetes.io/downward-api":
		return true
	}
	return false
}

func (f *Fold) unmountBegins(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	if p.unmount == nil {
		p.unmount = f.begin(p, p.sync, at, &trace.Action{ID: "unmount", Verb: trace.VerbUnmount})
	}
	return true
}

func (f *Fold) unmountEnds(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil || p.unmount == nil {
		return false
	}
	f.end(p.unmount, at, micros, nil)
	p.unmount = nil
	return true
}

func (f *Fold) tearBegins(p *pod, name, plugin string, at int64) bool {
	if p == nil {
		return false
	}
	v := p.volume(name, plugin)
	if v.unmount == nil {
		v.unmount = f.begin(p, p.unmount, at, &trace.Volume{Op: trace.VolumeTeardown, Name: name, Plugin: v.plugin})
	}
	return true
}

func (f *Fold) tearEnds(p *pod, key, name string, at int64) bool {
	if p == nil {
		return false
	}
	v := p.volume(key, "")
	if v.stuck != 0 { // it could not be taken away before
		f.was(p, p.sync, v.stuck, at, micros, &trace.Action{ID: "unmount", Verb: trace.VerbUnmount})
		v.stuck = 0
	}
	if v.unmount == nil {
		return false
	}
	if b, ok := v.unmount.event.(*trace.Volume); ok {
		done := *b
		done.Name = name
		f.end(v.unmount, at, micros, &done)
	}
	v.unmount = nil
	f.leaves(p, at)
	return true
}

// tearFailed is a volume that could not be taken away. That is only tried where the pod ends.
func (f *Fold) tearFailed(p *pod, v *volume, at int64, err string) {
	f.ends(p, at)
	failed := &trace.Volume{Op: trace.VolumeTeardown, Name: v.name, Plugin: v.plugin, Err: err, Class: trace.Classify(err)}
	a := &trace.Action{ID: "unmount", Verb: trace.VerbUnmount, Err: err, Class: trace.Classify(err)}
	from := at
	if v.unmount != nil {
		from = v.unmount.from
	}
	s := f.was(p, p.sync, from, at, micros, a)
	v.stuck = at
	if v.unmount != nil {
		v.unmount.parent = s.id
		f.end(v.unmount, at, micros, failed)
		v.unmount = nil
		return
	}
	f.was(p, s, at, at, micros, failed)
}
