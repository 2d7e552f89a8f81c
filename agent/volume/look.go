package volume

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// kind is what exists at a volume's path.
type kind int

const (
	unknown kind = iota // not checked, or cannot be checked
	absent
	plain   // a directory or another file
	mounted // a mount point
)

// Sight is what was seen at a path. Sights of one path can be compared with ==.
type Sight struct {
	kind kind
	id   uint64 // of the mount
	// holds says that the volume has the name of its plugin's Holder.
	holds bool
}

// See inspects a path of the agent without using the file system that is mounted there, which may not answer.
func See(path string) Sight { return seeAt(path, "", 0) }

// Absent reports whether nothing exists at the path. What could not be inspected may exist.
func (was Sight) Absent() bool { return was.kind == absent }

// Lost returns what has disappeared since; "" for nothing.
func (was Sight) Lost(now Sight) string {
	switch {
	case was.kind != plain && was.kind != mounted || now.kind == unknown:
		return ""
	case now.kind == absent:
		return "its directory is gone"
	case was.kind == mounted && now.kind == plain:
		return "it is no longer mounted"
	case was.holds && !now.holds && was.kind == now.kind && was.id == now.id: // with another kind or ID, something is mounted over it
		return "its files are gone"
	}
	return ""
}

// see inspects a volume; was is the earlier Sight. A volume elsewhere, such as a hostPath, is not inspected.
func (m *Manager) see(k key, path string, was Sight) Sight {
	if !m.place(k).has(path) {
		return Sight{}
	}
	name := ""
	if h, ok := m.named(k.plugin).(Holder); ok && !k.block {
		name = h.Holds()
	}
	return seeAt(path, name, was.id)
}

// Ready reports whether all volumes that the pod wants are mounted by this agent, and still exist: other programs can
// remove or unmount them. A lost volume is set up again, and Mount waits for it. Ready does not wait for a file system
// that does not respond. A pod without volumes is ready.
func (m *Manager) Ready(obj *v1.Pod) bool { return m.look(obj.UID) }

// look marks lost volumes, and reports whether all volumes exist.
func (m *Manager) look(uid types.UID) bool {
	all, had := m.had(uid)
	lost := had[:0]
	for _, h := range had { // without mu
		if h.why = h.was.Lost(m.see(h.key, h.path, h.was)); h.why != "" {
			lost = append(lost, h)
		}
	}
	if len(lost) == 0 {
		return all
	}
	for _, h := range m.lose(lost) { // without mu too: publishing searches for secrets
		trace.Point(m.cfg.Bus, h.span, trace.Decision{By: trace.ByVolumes, Subject: "volume " + h.key.name, Verdict: trace.VerdictSetUpAgain, Reason: h.why})
	}
	m.kick()
	return false
}

// lose marks volumes as not mounted. It returns those on which no operation ran meanwhile.
func (m *Manager) lose(lost []having) []having {
	m.mu.Lock()
	defer m.mu.Unlock()
	marked := lost[:0]
	for _, h := range lost {
		if h.s.busy || !h.s.mounted || h.s.seen != h.was {
			continue
		}
		h.s.mounted = false
		h.s.fresh()
		marked = append(marked, h)
	}
	return marked
}

// having is a volume that is mounted according to its state.
type having struct {
	key  key
	s    *state
	was  Sight
	path string
	span trace.Span
	why  string // the reason why it is lost
}

// had returns the pod's volumes without a running operation, and whether all are mounted according to their state.
func (m *Manager) had(uid types.UID) (all bool, had []having) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[uid]
	if p == nil {
		return true, nil
	}
	all = true
	for k := range p.wanted {
		switch s := m.states[k]; {
		case s == nil || !s.mounted:
			all = false
		case !s.busy:
			had = append(had, having{key: k, s: s, was: s.seen, path: s.result.HostPath, span: p.span})
		}
	}
	return all, had
}
