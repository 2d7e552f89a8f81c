package kubeletlog

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// podsIn are the pods that an entry lists.
func (f *Fold) podsIn(e *klog.Entry) (out []*pod) {
	for _, s := range e.List("pods") {
		if p := f.named(s, ""); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// added is pods that a source has. A pod that is known begins another life, unless the kubelet was restarted: it adds all its pods once more,
// also those that are terminating.
func (f *Fold) added(e *klog.Entry, at int64) bool {
	from := source(e.Get("source"))
	for _, s := range e.List("pods") {
		p := f.named(s, "")
		if p == nil || f.mirrored(p, from) {
			continue
		}
		carried := p.carried
		p.carried = false
		switch {
		case carried && p.ending && !p.gone:
			p.again, p.source = at, from
			continue
		case p.ending && !p.gone && len(p.uids) > 0 && !p.missed: // the next UID tells whether it is another one
			p.next, p.source = at, from
			continue
		case !p.gone && !p.ending && (p.seen || carried && (p.started || p.ready)):
			p.seen, p.source = true, from
			continue
		case p.seen || p.gone || p.ending:
			_, _, uid, _ := ref(s)
			p = f.anew(p, uid, from)
		}
		p.seen, p.source = true, from
		f.point(p, at, micros, &trace.Milestone{Name: trace.MilestoneSeen, Source: from})
	}
	return config(trace.LoopAdd)(f, e, at)
}

// source is where pods come from, by our words; "" where that is not known.
func source(s string) trace.SourceName {
	switch s {
	case "api":
		return trace.SourceAPI
	case "file":
		return trace.SourceFile
	case "http":
		return trace.SourceHTTP
	}
	return ""
}

// config is an iteration of the loop for what a source told.
func config(op trace.LoopOp) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		names := e.List("pods")
		l := &trace.Loop{Case: trace.LoopConfig, Op: op, Pods: len(names)}
		if op == "" {
			l.Case, l.Op = trace.LoopSync, ""
		}
		f.loop(at, l, names)
		return len(e.Fields) > 0
	}
}

func (f *Fold) loop(at int64, l *trace.Loop, names []string) {
	f.node.loops++
	l.N = f.node.loops
	if len(names) > 0 {
		l.Detail = strings.Join(names[:min(len(names), 4)], " ")
	}
	f.runtimeAnswers(at)
	f.point(nil, at, micros, l)
}

func (f *Fold) deleted(e *klog.Entry, at int64) bool {
	from := source(e.Get("source"))
	for _, p := range f.podsIn(e) {
		if f.mirrored(p, from) {
			continue
		}
		if p.next != 0 {
			p = f.comesAgain(p)
		}
		f.ends(p, at)
		p.inAPI = from == trace.SourceAPI
	}
	return config(trace.LoopDelete)(f, e, at)
}

func (f *Fold) removed(e *klog.Entry, at int64) bool {
	from := source(e.Get("source"))
	for _, p := range f.podsIn(e) {
		switch {
		case f.mirrored(p, from):
		case p.next != 0: // nothing of the pod that was added was seen
			p.next = 0
		case p.ending:
			f.isGone(p, at, micros)
		default:
			f.ends(p, at)
		}
	}
	return config(trace.LoopRemove)(f, e, at)
}

// ends says that a pod begins to end.
func (f *Fold) ends(p *pod, at int64) {
	if p == nil || p.ending || p.gone {
		return
	}
	if f.pods.starting[p] {
		f.isUp(p)
	}
	if f.pods.readying[p] {
		f.readied(p)
	}
	p.ending = true
	f.endWaits(p, at, nil)
	f.point(p, at, micros, &trace.Milestone{Name: trace.MilestoneTerminating})
}

// isGone says that nothing is left of a pod.
func (f *Fold) isGone(p *pod, at int64, precision time.Duration) {
	if p == nil || p.gone {
		return
	}
	f.ends(p, at)
	p.gone = true
	f.endWaits(p, at, nil)
	for _, name := range slices.Sorted(maps.Keys(p.containers)) {
		f.killed(p.containers[name], at, relist)
	}
	f.end(p.unmount, at, micros, nil)
	p.unmount = nil
	f.point(p, at, precision, &trace.Milestone{Name: trace.MilestoneGone})
	if p.next != 0 {
		f.comesAgain(p)
	}
}

// gone is the end of a pod's last pass. The object of one that was deleted in the API may stay, as by a finalizer: a log that has DELETE has
// REMOVE, too.
func (f *Fold) gone(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p != nil && p.inAPI {
		return false
	}
	f.isGone(p, at, micros)
	return p != nil
}

// deletedInAPI is the kubelet's last request for a pod, after which nothing is left of it here. The object may stay, as by a finalizer: it is
// gone with the line REMOVE.
func (f *Fold) deletedInAPI(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	f.was(p, nil, at, at, micros, &trace.StatusPatch{Op: trace.PatchDelete})
	return true
}

// replaces begins the life of a pod that was added while the one of its name was terminating, and is not that one. Where the kubelet had been
// restarted before, nothing more follows of that one.
func (f *Fold) replaces(old, p *pod) {
	at := old.next
	if at == 0 && old.again != 0 {
		at = old.again
		f.isGone(old, at, relist)
	}
	if at == 0 {
		return
	}
	p.seen, p.fresh, p.source = true, true, old.source
	f.point(p, at, micros, &trace.Milestone{Name: trace.MilestoneSeen, Source: old.source})
	old.again, old.next = 0, 0
}

// isAgain is a pod of which a container was found running. Where one of its name was added while it was terminating, and nothing of it runs any
// more, it is the added one: a static pod with the UID of before.
func (f *Fold) isAgain(p *pod, at int64) *pod {
	if p.next == 0 || p.runs() {
		return p
	}
	f.isGone(p, cmp.Or(p.leftAt, at), relist)
	return f.pods.byName[p.id.Namespace+"/"+p.id.Name]
}

// comesAgain begins the life of a pod that was added while the one of its name was terminating, where no line has told its UID.
func (f *Fold) comesAgain(old *pod) *pod {
	p := f.anew(old, "", old.source)
	f.replaces(old, p)
	return p
}

// anew is another life of a pod's name. The earlier pod stays known by its UID where that is never used again: a static pod may have it once
// more.
func (f *Fold) anew(old *pod, uid string, from trace.SourceName) *pod {
	if from != trace.SourceAPI || len(old.uids) == 0 {
		f.pods.drop(old)
	}
	return f.pods.add(f, trace.Pod{Namespace: old.id.Namespace, Name: old.id.Name, UID: uid})
}

// hashUID is the UID of a static pod, which the kubelet makes. Upstream: pkg/kubelet/config/common.go.
var hashUID = pattern.New(`^[0-9a-f]{32}$`)

// mirrored reports whether what a source tells of a pod's name is told of the mirror of a static pod: that is in the API, and its deletion is
// not the pod's.
func (f *Fold) mirrored(p *pod, from trace.SourceName) bool {
	uid := firstOf(p.id.UID, f.specs.byName[p.id.Namespace+"/"+p.id.Name].uid)
	static := p.source == trace.SourceFile || p.source == trace.SourceHTTP || hashUID.MatchString(uid)
	return static && !p.gone && from == trace.SourceAPI
}

// restarted is a kubelet's start: what it did before is over.
func (f *Fold) restarted(_ *klog.Entry, at int64) bool {
	f.pods.forget()
	for e := f.pods.order.Front(); e != nil; e = e.Next() {
		if p, ok := e.Value.(*pod); ok {
			p.carried = true
		}
	}
	n := &f.node
	f.end(n.runtime, n.since, relist, nil)
	f.end(n.network, n.without, relist, nil)
	if n.gc != nil { // nobody knows when it ended
		f.end(n.gc, at, time.Duration(at-n.gc.from), nil)
	}
	f.node = nodeState{begun: at}
	return false
}

var oldEvent = pattern.New(`ID:"?([-0-9a-f]{8,64})"?,? Type:"?([A-Za-z]{1,40})"?,? Data:"?([0-9a-f]{12,64})`)

// pleg is what a look at the runtime, each second, found out.
func (f *Fold) pleg(e *klog.Entry, at int64) bool {
	var ev struct{ ID, Type, Data string }
	text := e.Get("event")
	if json.Unmarshal([]byte(text), &ev) != nil {
		if m := oldEvent.FindStringSubmatch(text); m != nil {
			ev.ID, ev.Type, ev.Data = m[1], m[2], m[3]
		}
	}
	p := f.named(e.Get("pod"), ev.ID)
	if p == nil || ev.Type == "" {
		return false
	}
	if ev.Type == "ContainerStarted" {
		p = f.isAgain(p, at)
		f.pods.learn(p, ev.ID)
	}
	f.loop(at, &trace.Loop{Case: trace.LoopPLEG, Pods: 1}, []string{e.Get("pod")})
	f.point(p, at, relist, &trace.PLEGEvent{Type: trace.PLEGType(ev.Type), Container: ev.Data, Name: p.nameOf(ev.Data), From: "relist"})
	switch ev.Type {
	case "ContainerStarted":
		f.ran(p, ev.Data, at)
	case "ContainerDied":
		f.died(p, ev.Data, at)
	}
	return true
}

// maxLives bounds the ids that are known of a pod.
const maxLives = 256

// ran is a container or sandbox that was found running.
func (f *Fold) ran(p *pod, id string, at int64) {
	p.met(id)
	if len(p.lives) < maxLives {
		p.lives[id] = true
	}
	f.volumesDone(p, at)
	p.noBox = ""
	if p.seen && !p.started && !p.fresh && len(p.lives) == 1 {
		// Of a pod that has no sandbox the log says so before one is made.
		p.started, p.ready = true, true
		f.point(p, at, relist, &trace.Milestone{Name: trace.MilestoneStarted, Adopted: true})
		return
	}
	f.endWaits(p, at, func(key string) bool {
		return key == "network" || key == "retry" || p.started && len(p.containers) == 1 && strings.HasPrefix(key, "container ")
	})
	if p.down {
		p.backAt = at
		f.pods.backing[p] = true
	}
	if !p.started && !p.ending && p.seen {
		if !p.told { // the Event of a start is earlier
			p.lastStart = at
		}
		f.pods.starting[p] = true
	}
	if p.why != "" && p.sandbox == nil && !p.ending {
		f.was(p, p.sync, p.needed, at, relist, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Replaces: p.why, Reason: p.whyNew()})
		p.why = ""
	}
}

// died is a container or sandbox that was found to have ended.
func (f *Fold) died(p *pod, id string, at int64) {
	p.met(id)
	if _, known := p.lives[id]; known {
		p.lives[id] = false
	}
	delete(f.pods.backing, p)
	for _, name := range slices.Sorted(maps.Keys(p.containers)) {
		c := p.containers[name]
		if c.killing != "" && strings.HasSuffix(c.killing, id) {
			f.killed(c, at, relist)
		}
	}
	f.endWaits(p, at, func(key string) bool { return key == "init" })
	f.leaves(p, at)
}

// finished is V2's line of a container's end, with its code.
func (f *Fold) finished(e *klog.Entry, at int64) bool {
	p := f.ofUID(e.Get("podID"))
	if p == nil {
		return false
	}
	p.exit = e.Get("exitCode")
	p.failed = p.failed || p.exit != "0"
	f.died(p, e.Get("containerID"), at)
	return false
}

// isUp says that a pod's containers have all started, by what the log shows of it.
func (f *Fold) isUp(p *pod) {
	delete(f.pods.starting, p)
	if k := f.spec(p); k != nil && p.passed == 0 {
		if !p.started && !p.ending && len(p.waits) == 0 && f.allRun(p, k) {
			precision := relist
			if p.told {
				precision = micros
			}
			f.nowStarted(p, p.lastStart, precision)
		}
		return
	}
	running := 0
	for _, alive := range p.lives {
		if alive {
			running++
		}
	}
	switch {
	case p.started || p.ending || len(p.waits) > 0:
	case p.passed != 0:
		f.nowStarted(p, p.lastStart, micros)
	case running < len(p.lives):
	case p.told: // an Event told of a container's start
		f.nowStarted(p, p.lastStart, micros)
	case running >= 2: // a sandbox and a container at least
		f.nowStarted(p, p.lastStart, relist)
	}
}

func (f *Fold) nowStarted(p *pod, at int64, precision time.Duration) {
	if p.started {
		return
	}
	p.started = true
	delete(f.pods.starting, p)
	f.point(p, at, precision, &trace.Milestone{Name: trace.MilestoneStarted, Since: p.since})
	p.startedAt, p.startedBy = at, precision
	switch k := f.spec(p); {
	case p.probed || p.ready:
	case k == nil:
		f.pods.readying[p] = true
	case k.probed == 0 && !k.gated: // nothing else decides
		f.readied(p)
	}
}

// readied says of a pod whose containers have started that it is ready, where no line tells of a readiness probe.
func (f *Fold) readied(p *pod) {
	delete(f.pods.readying, p)
	if k := f.spec(p); k != nil && (k.probed > 0 || k.gated) {
		return
	}
	if !p.probed && !p.ready {
		p.ready = true
		f.point(p, p.startedAt, p.startedBy, &trace.Milestone{Name: trace.MilestoneReady, Since: p.since})
	}
}

// observed is the kubelet's own word that all containers of a pod run.
func (f *Fold) observed(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil || p.started || p.ending {
		return false
	}
	f.endWaits(p, at, nil)
	f.volumesDone(p, at)
	late := lateBy(e)
	when, precision := at-int64(late), relist
	if p.lastStart != 0 && when-p.lastStart < int64(5*time.Second) {
		when = p.lastStart
	}
	if d, err := time.ParseDuration(e.Get("podStartE2EDuration")); err == nil && !p.seen && d > late && d < 24*time.Hour {
		d -= late
		p.since = d // since it was created: the log does not show when it was seen
	}
	f.nowStarted(p, when, precision)
	return false
}

// lateBy is how much later the kubelet says that a pod started than it knew: it waits until the API server tells it of a change of the pod.
// The keys are times in the text form; in JSON each is when the line was written.
func lateBy(e *klog.Entry) time.Duration {
	var at [2]time.Time
	for i, key := range []string{"observedRunningTime", "watchObservedRunningTime"} {
		text, _, _ := strings.Cut(e.Get(key), " m=")
		t, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", text)
		if err != nil {
			return 0
		}
		at[i] = t
	}
	if d := at[1].Sub(at[0]); d > 0 && d < 24*time.Hour {
		return d
	}
	return 0
}

// running is the kubelet's note that all containers of a pod run, which it makes when it writes the pod's status.
func (f *Fold) running(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil || p.started || p.ending || !p.seen {
		return false
	}
	f.endWaits(p, at, nil)
	f.volumesDone(p, at)
	if p.lastStart != 0 && at-p.lastStart < int64(5*time.Second) {
		at = p.lastStart
	}
	f.nowStarted(p, at, relist)
	return false
}

// probed is a change of a container's probes.
func (f *Fold) probed(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	f.loop(at, &trace.Loop{Case: trace.LoopProbe, Pods: 1}, []string{e.Get("pod")})
	if e.Get("probe") == "startup" && e.Get("status") == "started" {
		f.said(p, trace.ProbeStartup, at)
	}
	if e.Get("probe") != "readiness" {
		return true
	}
	p.probed = true
	if e.Get("status") != "ready" {
		return true
	}
	f.said(p, trace.ProbeReadiness, at)
	p.readies++
	if k := f.spec(p); k != nil && (p.readies < k.probed || k.gated) {
		return true
	}
	if !p.ready && !p.ending {
		if !p.started && p.lastStart != 0 {
			f.nowStarted(p, p.lastStart, relist)
		}
		p.ready = true
		f.point(p, at, micros, &trace.Milestone{Name: trace.MilestoneReady})
	}
	return true
}

func (f *Fold) housekeeping(e *klog.Entry, at int64) bool {
	d, err := time.ParseDuration(e.Get("actual"))
	if err != nil || d <= 0 || d > 24*time.Hour {
		return false
	}
	f.node.loops++
	f.housekeepingWaited(f.was(nil, nil, at-int64(d), at, time.Millisecond, &trace.Loop{N: f.node.loops, Case: trace.LoopHousekeeping}), at)
	return false
}
