package kubeletlog

import (
	"cmp"
	"container/list"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// noNamespace stands for the namespace of a pod of which the log has the UID alone: no namespace is called so.
const noNamespace = "_"

// pod is one life of a pod.
type pod struct {
	id     trace.Pod
	sealed bool // records of it are out: its id stays
	trace  trace.TraceID
	at     *list.Element
	uids   []string
	stage
	moments
	underway
	counted

	syncs  int
	why    trace.SandboxFault // what is wrong with the sandbox; "" where there is none
	inAPI  bool               // it was deleted in the API, and its object may be there
	source trace.SourceName   // which source added it last
	kept   bool               // its directory cannot be removed
	mounts string             // what is mounted there
	exit   string             // the code of the container that ended last
	noBox  string             // the error of a sandbox of which the pass that made it has not told yet
	// lives are the containers and sandboxes that were seen to start, by id; false once they died.
	lives      map[string]bool
	containers map[string]*container
	vols       map[string]*volume
}

// stage is how far a pod has come.
type stage struct {
	seen, started, ready, ending, gone bool
	down                               bool // a container of it has to wait after it was up
	fresh                              bool // the log shows that it was not found running
	probed                             bool // it has a readiness probe
	told                               bool // an Event told that a container started
	toldReady                          bool // the API has it that the pod is ready
	carried                            bool // the kubelet was restarted, and has not added it yet
	evicted                            bool // it was told why the kubelet ends it
	stopped                            bool // its containers were killed, by the kubelet's word
}

// counted is what a pod's spec says how many there are of.
type counted struct {
	// ids are all containers and sandboxes that were told of, starts the app containers whose start an Event told, by name.
	ids, starts map[string]bool
	readies     int  // how often a container was said to be ready
	failed      bool // a container ended with an error
	tries       map[probeID]attempt
	missed      bool // attempts may be in lines that are missing
}

// moments are times in a pod's life, 0 where there are none.
type moments struct {
	lastStart, backAt    int64         // a container was started, and was started again after it was down
	startedAt            int64         // all containers had started
	startedBy            time.Duration // how precisely that is known
	since                time.Duration // how long it took to start, where it was not seen and the log tells
	needed               int64         // a sandbox was needed
	asked                int64         // a pass found that there is no sandbox yet, which comes before it waits for the volumes
	passed               int64         // a sync ended that had started containers
	passFrom, passTo     int64         // the last sync that ended without an error
	orphaned             int64         // nobody knew it any more, and something was mounted in its directory
	firstVolume, mounted int64         // the first volume was looked at, the last one mounted
	failedAt, volumesAt  int64         // a sandbox, and all volumes, were last said to have failed
	refused              int64         // the node's conditions did not admit it
	leftAt               int64         // something of it ended while it was ending
	again                int64         // a restarted kubelet added it while it was terminating: it, or another pod of its name
	next                 int64         // a source added a pod of its name while it was terminating: another one, or a static pod once more
}

// notAfter is for a clock that was set back to t: what is later would be waited for until then.
func (m *moments) notAfter(t int64) {
	for _, at := range []*int64{
		&m.lastStart, &m.backAt, &m.startedAt, &m.needed, &m.asked, &m.passed, &m.passFrom, &m.passTo, &m.orphaned, &m.firstVolume, &m.mounted,
		&m.failedAt, &m.volumesAt, &m.refused, &m.leftAt, &m.again, &m.next,
	} {
		*at = min(*at, t)
	}
}

// underway is what has begun.
type underway struct {
	sync, volumes, unmount, sandbox *span
	later                           *span // the volumes' action, where the log has no line of its begin
	waits                           map[string]*span
}

// container is one of a pod's containers.
type container struct {
	name                       string
	init                       bool
	image, pull, create, start *span
	kill, grace, hook          *span
	killing                    string // the id of the one that is ended
	target                     string // the image
	lastErr                    string // of its last pull
	bytes                      int64  // the image's size
	probing                    int64  // an attempt of a probe by exec began
	started                    int64  // when its last start began
}

// volume is one of a pod's volumes.
type volume struct {
	name, plugin  string
	verified      int64 // when it was first verified to be attached; 0 once it was
	attach, mount *span
	unmount       *span
	tries         int
	unresolved    int64 // the kubelet could not begin with it, and the line is kept
	staged        int64 // what was last told of its set-up within the plugin
	stuck         int64 // it could not be taken away, last then
}

type pods struct {
	byName, byUID map[string]*pod
	order         *list.List // of *pod, the longest unused first
	// starting are those whose start is to be settled.
	starting map[*pod]bool
	// readying are those that started, until it is known whether they have a readiness probe.
	readying map[*pod]bool
	// backing are those whose container was started again.
	backing map[*pod]bool
	// leaving are those that end, of which something has ended.
	leaving map[*pod]bool
	// retrying are those with waits whose end is known.
	retrying map[*pod]bool
	// mounting are those whose volumes are mounted, without a line that says since when.
	mounting map[*pod]bool
	checked  int64
	nameless int // how many were ever made of a UID alone
}

func newPods() pods {
	return pods{byName: map[string]*pod{}, byUID: map[string]*pod{}, order: list.New(), starting: map[*pod]bool{}, retrying: map[*pod]bool{}, readying: map[*pod]bool{}, backing: map[*pod]bool{}, leaving: map[*pod]bool{}, mounting: map[*pod]bool{}}
}

// legacy is a pod as kubelets before 1.21 wrote it: name_namespace(uid).
var legacy = pattern.New(`^([a-z0-9][-a-z0-9.]{0,252})_([a-z0-9][-a-z0-9]{0,62})\(([-0-9a-f]{8,64})\)$`)

// ref reads a reference to a pod: namespace/name, or the old form with its UID.
func ref(s string) (ns, name, uid string, ok bool) {
	if m := legacy.FindStringSubmatch(s); m != nil {
		return m[2], m[1], m[3], true
	}
	ns, name, ok = strings.Cut(s, "/")
	return ns, name, "", ok && ns != "" && name != "" && len(s) < 400 && !strings.ContainsAny(s, " \n")
}

// named returns the pod of a reference, made where it is new; nil where there is no reference.
func (f *Fold) named(s, uid string) *pod {
	ns, name, own, ok := ref(s)
	if !ok {
		return nil
	}
	if uid == "" {
		uid = own
	}
	p := f.pods.byName[ns+"/"+name]
	var earlier *pod
	if p != nil && uid != "" && f.pods.byUID[uid] != p {
		switch old := f.pods.byUID[uid]; {
		case old != nil && (len(p.uids) > 0 || old.ending && old.id.Namespace == ns && old.id.Name == name): // an earlier pod of the name
			return old
		case len(p.uids) > 0:
			earlier, p = p, nil
		}
	}
	if p == nil && uid != "" {
		if q := f.pods.byUID[uid]; q != nil && (q.id.Namespace == noNamespace || q.id.Name == name && q.id.Namespace == ns) {
			p = q
			if !p.sealed {
				p.id.Namespace, p.id.Name = ns, name
			}
			f.pods.byName[ns+"/"+name] = p
		}
	}
	if p == nil {
		p = f.adopted(ns, name)
	}
	if p == nil {
		p = f.pods.add(f, trace.Pod{Namespace: ns, Name: name, UID: uid})
		if earlier != nil {
			f.replaces(earlier, p)
		}
	}
	f.pods.learn(p, uid)
	f.pods.order.MoveToBack(p.at)
	return p
}

// ofUID returns the pod of a UID; nil where there is none.
func (f *Fold) ofUID(uid string) *pod {
	if uid == "" {
		return nil
	}
	p := f.pods.byUID[uid]
	if p != nil {
		f.pods.order.MoveToBack(p.at)
	}
	return p
}

// legacyIn is an old form of a pod within a text.
var legacyIn = pattern.New(`([a-z0-9][-a-z0-9.]{0,252}_[a-z0-9][-a-z0-9]{0,62}\([-0-9a-f]{8,64}\))`)

// nameOld names pods of which the UID alone was known, where an old kubelet writes both.
func (f *Fold) nameOld(e *klog.Entry) {
	if !e.Free || f.pods.nameless == 0 {
		return
	}
	for _, s := range legacyIn.FindAllString(e.Msg[:min(len(e.Msg), maxError)], 64) {
		if _, _, uid, ok := ref(s); ok {
			if p := f.pods.byUID[uid]; p != nil && p.id.Namespace == noNamespace {
				f.named(s, uid)
			}
		}
	}
}

// unnamed is ofUID that makes a pod where there is none.
func (f *Fold) unnamed(uid string) *pod {
	if p := f.ofUID(uid); p != nil || uid == "" || len(uid) > 64 {
		return p
	}
	f.pods.nameless++
	return f.pods.add(f, trace.Pod{Namespace: noNamespace, Name: uid, UID: uid})
}

// unnamedAs is unnamed of a pod of which the name is known as well, but not its namespace.
func (f *Fold) unnamedAs(uid, name string) *pod {
	p := f.unnamed(uid)
	if p == nil || p.sealed || p.id.Namespace != noNamespace || name == "" || name == uid || !podName.MatchString(name) || f.pods.byName[noNamespace+"/"+name] != nil {
		return p
	}
	delete(f.pods.byName, noNamespace+"/"+p.id.Name)
	p.id.Name = name
	f.pods.byName[noNamespace+"/"+name] = p
	return p
}

// adopted is a pod of which the name was known without its namespace, which this tells; nil where there is none. Two of one name in
// different namespaces, of which one has a volume that fails, are rare on a node.
func (f *Fold) adopted(ns, name string) *pod {
	p := f.pods.byName[noNamespace+"/"+name]
	if p == nil || p.id.Namespace != noNamespace {
		return nil
	}
	delete(f.pods.byName, noNamespace+"/"+name)
	if !p.sealed {
		p.id.Namespace = ns
	}
	f.pods.byName[ns+"/"+name] = p
	return p
}

// podName is what a pod may be called.
var podName = pattern.New(`^[a-z0-9][-a-z0-9.]{0,252}$`)

// ofMirror are messages about the mirror of a static pod, with the UID that this has in the API.
var ofMirror = map[string]bool{"Trying to delete pod": true, "Deleting a mirror pod": true}

// podOf returns the pod that an entry's keys name; nil where they name none.
func (f *Fold) podOf(e *klog.Entry) *pod {
	if ofMirror[e.Msg] {
		return f.podBy(e, "")
	}
	return f.podBy(e, e.Get("podUID"))
}

// podBy is podOf where the pod's UID is known.
func (f *Fold) podBy(e *klog.Entry, uid string) *pod {
	for _, k := range []string{"pod", "podName", "object"} {
		if v := e.Get(k); strings.Contains(v, "/") || strings.HasSuffix(v, ")") {
			if k == "object" && e.Get("kind") != "Pod" {
				continue
			}
			if p := f.named(v, uid); p != nil {
				return p
			}
		}
	}
	return f.ofUID(uid)
}

func (ps *pods) add(f *Fold, id trace.Pod) *pod {
	if ps.order.Len() >= maxPods { // earlier pods of a name are known by their UIDs alone
		if old, ok := ps.order.Front().Value.(*pod); ok {
			ps.drop(old)
		}
	}
	p := &pod{id: id, lives: map[string]bool{}, containers: map[string]*container{}, vols: map[string]*volume{}}
	p.waits = map[string]*span{}
	p.trace = trace.TraceID{Hi: 1, Lo: uint64(f.nextID())}
	p.at = ps.order.PushBack(p)
	ps.byName[id.Namespace+"/"+id.Name] = p
	ps.learn(p, id.UID)
	return p
}

// learn takes in a pod's UID.
func (ps *pods) learn(p *pod, uid string) {
	if uid == "" || ps.byUID[uid] == p {
		return
	}
	if p.id.UID == "" && !p.sealed {
		p.id.UID = uid
	}
	ps.byUID[uid] = p
	if p.uids = append(p.uids, uid); len(p.uids) > maxUIDs {
		delete(ps.byUID, p.uids[0])
		p.uids = p.uids[1:]
	}
}

// maxUIDs bounds the UIDs that one pod is known by: a static pod has that of its mirror too.
const maxUIDs = 8

// maxWaits is how many waits of a pod are known at a time. Whoever wrote the log names what is waited for.
const maxWaits = 1024

func (ps *pods) drop(p *pod) {
	ps.order.Remove(p.at)
	delete(ps.starting, p)
	delete(ps.retrying, p)
	delete(ps.readying, p)
	delete(ps.backing, p)
	delete(ps.leaving, p)
	delete(ps.mounting, p)
	if key := p.id.Namespace + "/" + p.id.Name; ps.byName[key] == p {
		delete(ps.byName, key)
	}
	for _, uid := range p.uids {
		if ps.byUID[uid] == p {
			delete(ps.byUID, uid)
		}
	}
}

// forget drops what has begun, of all pods.
func (ps *pods) forget() {
	for e := ps.order.Front(); e != nil; e = e.Next() {
		if p, ok := e.Value.(*pod); ok {
			p.sync, p.volumes, p.unmount, p.sandbox, p.mounted, p.firstVolume = nil, nil, nil, nil, 0, 0
			p.later = nil
			p.tries, p.missed = nil, true
			clear(p.containers)
			clear(p.vols)
			clear(p.waits)
		}
	}
}

// setBack is for a clock that was set back to t.
func (ps *pods) setBack(t int64) {
	ps.checked = 0
	for e := ps.order.Front(); e != nil; e = e.Next() {
		if p, ok := e.Value.(*pod); ok {
			p.notAfter(t)
		}
	}
}

// batch is how long the lines of one look at the runtime take.
const batch = 200 * time.Millisecond

// settled says of pods that their containers have started, where the log is quiet about them.
func (ps *pods) settled(f *Fold, now int64, all bool) {
	if !all && now >= ps.checked && now-ps.checked < int64(time.Second/2) { // a clock that was set back is due
		return
	}
	ps.checked = now
	for _, p := range inOrder(ps.starting) {
		if k := f.spec(p); k != nil && p.passed == 0 {
			if (all || now-p.lastStart >= int64(batch)) && f.allRun(p, k) {
				f.isUp(p)
			}
			continue
		}
		if p.passed == 0 && (all && now-p.lastStart < int64(2*time.Second) || !all && now-p.lastStart < int64(quiet)) || !all && now-p.passed < int64(time.Second/2) {
			continue
		}
		f.isUp(p)
	}
	for _, p := range inOrder(ps.readying) {
		if all || now-p.startedAt >= int64(quiet) {
			f.readied(p)
		}
	}
	for _, p := range inOrder(ps.backing) {
		if now-p.backAt >= int64(quiet) {
			f.isBack(p, p.backAt)
		}
	}
	for _, p := range inOrder(ps.leaving) {
		f.left(p, now, all)
	}
	for _, p := range inOrder(ps.retrying) {
		f.retried(p, now)
	}
	for e := ps.order.Front(); all && e != nil; e = e.Next() {
		if p, ok := e.Value.(*pod); ok && p.noBox != "" && !p.ending && p.waits["retry"] == nil { // the log ends before the pass's error
			f.retry(p, p.failedAt, p.noBox)
			p.noBox = ""
		}
	}
}

// inOrder are pods in the order in which they came.
func inOrder(all map[*pod]bool) []*pod {
	if len(all) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b *pod) int { return cmp.Compare(a.trace.Lo, b.trace.Lo) })
}

func (p *pod) container(name string) *container {
	c := p.containers[name]
	if c == nil {
		c = &container{name: name}
		if len(p.containers) < 1024 {
			p.containers[name] = c
		}
	}
	return c
}

func (p *pod) volume(name, plugin string) *volume {
	v := p.vols[name]
	if v == nil {
		v = &volume{name: name}
		if len(p.vols) < 1024 {
			p.vols[name] = v
		}
	}
	if plugin != "" {
		v.plugin = plugin
	}
	return v
}
