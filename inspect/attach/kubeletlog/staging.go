package kubeletlog

import (
	"maps"
	"slices"
	"strings"
)

// attachKey is the key of a pod's wait until a volume that is set up is attached.
const attachKey = "attach "

// waitsForAttach is a volume's set-up that begins to wait until the volume is attached: at V0 it is the first line of the set-up.
func (f *Fold) waitsForAttach(p *pod, name, plugin string, at int64) bool {
	if !f.mountBegins(p, name, plugin, at) {
		return false
	}
	v, key := p.volume(name, ""), attachKey+name
	v.staged = at
	if p.waits[key] == nil && len(p.waits) < maxWaits {
		p.waits[key] = f.begin(p, v.mount, at, attachWait(name, ""))
	}
	return true
}

// isAttached ends that wait.
func (f *Fold) isAttached(p *pod, name string, at int64) bool {
	if p == nil {
		return false
	}
	p.volume(name, "").staged = at
	f.endWaits(p, at, func(key string) bool { return key == attachKey+name })
	return true
}

// isStaged is a volume that is mounted on the node. At V0 no line tells that it is mounted in the pod too.
func (f *Fold) isStaged(p *pod, name string, at int64) bool {
	if p == nil {
		return false
	}
	v := p.volume(name, "")
	v.staged = at
	if f.level < 1 {
		f.mountEnds(p, name, at)
	}
	return true
}

// mountsDone ends the set-ups of a pod whose volumes are there, where the last line of each is missing, as at V0: nobody knows when.
func (f *Fold) mountsDone(p *pod, at int64) {
	if p.started {
		return
	}
	f.endWaits(p, at, func(key string) bool {
		return strings.HasPrefix(key, attachKey) || strings.HasPrefix(key, unresolvedKey)
	})
	last := p.mounted
	for _, name := range slices.Sorted(maps.Keys(p.vols)) {
		if v := p.vols[name]; v.mount != nil && v.staged != 0 {
			last = max(last, v.staged)
			f.mountEnds(p, name, v.staged)
		}
	}
	p.mounted = last
}
