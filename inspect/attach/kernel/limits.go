package kernel

import (
	"context"
	"path"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/usage"
)

const (
	// limitsEvery is how often the figures of CPU limits are read; those of a cgroup without a limit only each unlimited-th time, from
	// settled on.
	limitsEvery = time.Second
	unlimited   = 30
	settled     = 5 * time.Second
	// youth is for how long after its cgroup a pod counts as one that starts: pressure is then read each second.
	youth = 30 * time.Second
	// keptSamples is how many figures of a cgroup are kept: an attempt of a probe that takes longer counts from the oldest.
	keptSamples = 20
	// maxPods, and maxCgroups in all pods together, bound what is followed.
	maxPods    = 1024
	maxCgroups = 4096
)

// sample is what a limit had done at a time.
type sample struct {
	at time.Time
	usage.Throttling
}

// limited is a cgroup whose limit is followed.
type limited struct {
	dir     string
	since   time.Time // it was first seen
	samples []sample
	// kills is how many of its processes the kernel had killed when that was last read, counted that it was read or that the cgroup was new. Only
	// the goroutine of look uses them.
	kills   int64
	counted bool
}

// podCgroup is the cgroup of a pod, with those of its containers by their ids.
type podCgroup struct {
	limited
	containers map[string]*limited
}

// limits follows what the CPU limits of pods and their containers do. It is safe for use by several goroutines.
type limits struct {
	mu   sync.Mutex
	pods map[string]*podCgroup // by UID
	// ids are the containers of pods by name, as others tell.
	ids   map[string]map[string]string
	n     int  // cgroups that are followed
	round int  // of look, which alone uses it
	full  bool // some are not followed, and may be later
}

func newLimits() *limits {
	return &limits{pods: map[string]*podCgroup{}, ids: map[string]map[string]string{}}
}

// cgroups follows the cgroups of pods until ctx ends.
func (k *Kernel) cgroups(ctx context.Context) error {
	t := time.NewTicker(limitsEvery)
	defer t.Stop()
	var h hierarchy
	for found := false; ; {
		if !found || k.limits.count() == 0 { // the kubelet makes them when it starts
			all, err := k.mounts(nil)
			if err == nil {
				h, found = findCgroups(all, k.cfg.Files, k.cfg.CgroupRoot)
			}
		}
		if found {
			machine, _ := text("/proc/vmstat", maxText) // without it, kills are not seen
			k.outOfMemory(&h, machine, time.Now())
			if k.limits.look(h, time.Now()) {
				k.usage.Nudge()
			}
			k.seenCgroups.Store(true)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// count is how many pods have cgroups.
func (l *limits) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pods)
}

// has reports whether a pod has a cgroup.
func (l *limits) has(uid string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pods[uid] != nil
}

// look reads the figures of all cgroups that are due. It reports whether a pod is young, which most likely starts. One goroutine calls it, and
// only it changes what is followed: so it reads files, which may take long, without the lock.
func (l *limits) look(h hierarchy, now time.Time) (young bool) {
	found := map[string]string{}
	for _, class := range h.classes() {
		all, _ := names(class) // it may go
		for _, name := range all {
			if uid := podUID(name); uid != "" && len(found) < maxPods {
				found[uid] = path.Join(class, name)
			}
		}
	}
	l.round++
	l.followPods(found, now)
	for _, p := range l.pods {
		young = young || now.Sub(p.since) < youth
		l.read(&p.limited, now)
		all, _ := names(p.dir) // it may go
		l.followContainers(p, all, now)
		for _, c := range p.containers {
			l.read(c, now)
		}
	}
	return young
}

// followPods follows the cgroups of found, by their pods' UIDs, and no others.
func (l *limits) followPods(found map[string]string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, p := range l.pods {
		if found[uid] != p.dir {
			l.n -= 1 + len(p.containers)
			delete(l.pods, uid)
		}
	}
	for uid := range l.ids { // also of pods of which records come after their cgroup is gone
		if found[uid] == "" {
			delete(l.ids, uid)
		}
	}
	for uid, dir := range found {
		if l.pods[uid] == nil && l.room() {
			l.n++
			l.pods[uid] = &podCgroup{limited: limited{dir: dir, since: now, counted: l.isNew()}, containers: map[string]*limited{}}
		}
	}
}

// followContainers follows the cgroups of a pod's containers, and no others. all are the directories in the pod's cgroup.
func (l *limits) followContainers(p *podCgroup, all []string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := map[string]bool{}
	for _, name := range all {
		id := containerID(name)
		if id == "" {
			continue
		}
		there[id] = true
		if p.containers[id] == nil && l.room() {
			l.n++
			p.containers[id] = &limited{dir: path.Join(p.dir, name), since: now, counted: l.isNew()}
		}
	}
	for id := range p.containers {
		if !there[id] {
			l.n--
			delete(p.containers, id)
		}
	}
}

// room reports whether another cgroup can be followed.
func (l *limits) room() bool {
	l.full = l.full || l.n >= maxCgroups
	return l.n < maxCgroups
}

// isNew reports whether a cgroup that is followed now was not there before.
func (l *limits) isNew() bool { return l.round > 1 && !l.full }

// read reads the figures of a cgroup, where they are due.
func (l *limits) read(c *limited, now time.Time) {
	if n := len(c.samples); now.Sub(c.since) > settled && (n == 0 || c.samples[n-1].Periods == 0) && l.round%unlimited != 0 {
		return
	}
	b, err := text(path.Join(c.dir, "cpu.stat"), maxText)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(c.samples) == keptSamples {
		c.samples = append(c.samples[:0], c.samples[1:]...)
	}
	c.samples = append(c.samples, sample{now, usage.ParseThrottling(b)})
}

// over is what the limit did in a time, as far as it was read: from the last figures before it to the first after it. A cgroup began with none.
func (c *limited) over(from, to time.Time) (t usage.Throttling, interval time.Duration) {
	if c == nil || len(c.samples) == 0 {
		return t, 0
	}
	first, last := sample{at: c.since}, c.samples[len(c.samples)-1]
	if len(c.samples) == keptSamples {
		first = c.samples[0]
	}
	for _, s := range c.samples {
		if !s.at.After(from) {
			first = s
		}
	}
	for i := len(c.samples) - 1; i >= 0 && !c.samples[i].at.Before(to); i-- {
		last = c.samples[i]
	}
	return last.Since(first.Throttling), last.at.Sub(first.at)
}

// holdback is what CPU limits did to a container in a time: its own, or its pod's where that held it back more; nil where neither counted anything
// or where they are not known.
func (l *limits) holdback(uid, container string, from, to time.Time) *trace.Throttle {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pods[uid]
	if p == nil {
		return nil
	}
	most, interval := p.containers[l.ids[uid][container]].over(from, to)
	if whole, in := p.over(from, to); whole.Throttled > most.Throttled {
		most, interval = whole, in
	}
	if interval <= 0 || most.Periods <= 0 {
		return nil
	}
	return &trace.Throttle{Interval: interval, Periods: most.Periods, Throttled: most.Throttled, Stopped: most.Stopped}
}

// named says which container of a pod has an id.
func (l *limits) named(uid, name, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if uid == "" || name == "" || id == "" || len(l.ids) >= maxPods && l.ids[uid] == nil {
		return
	}
	if l.ids[uid] == nil {
		l.ids[uid] = map[string]string{}
	}
	if len(l.ids[uid]) < maxCgroups/8 {
		l.ids[uid][name] = id
	}
}

// nameOf is the name of a pod's container with an id; "" where nobody has told.
func (l *limits) nameOf(uid, id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, of := range l.ids[uid] {
		if of == id && id != "" {
			return name
		}
	}
	return ""
}
