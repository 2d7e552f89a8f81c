package volume

import (
	"errors"
	"maps"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// leftover is a volume of an earlier agent, whose pod is not known yet.
type leftover struct {
	// attach is its attachment name, "" if it is not attached.
	attach v1.UniqueVolumeName
	label  mountLabel
}

// findLeft searches for volumes that an earlier agent left, and that matter to others: attachable ones, and, on a node with SELinux, those
// that pods can share.
func (m *Manager) findLeft() {
	m.mu.Lock()
	m.left = map[key]leftover{}
	m.mu.Unlock()
	uids, err := subdirs(m.podsDir())
	if err != nil {
		return // housekeeping reads it too and reports the error
	}
	for _, uid := range uids {
		found, err := m.scan(types.UID(uid))
		if err != nil {
			continue
		}
		for _, k := range found {
			l := leftover{label: m.foundLabel(k)}
			if a, ok := m.named(k.plugin).(Attachable); ok {
				l.attach = a.FoundName(m.place(k))
			}
			m.leave(k, l)
		}
	}
}

func (m *Manager) leave(k key, l leftover) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch s := m.states[k]; {
	case l == leftover{}:
	case s != nil && l.attach != "":
		s.attach = l.attach
	case s == nil && m.pods[k.uid] == nil:
		m.left[k] = l
	}
}

// forgetLeft removes volumes of an earlier agent that no longer exist.
func (m *Manager) forgetLeft() {
	m.mu.Lock()
	left := slices.Collect(maps.Keys(m.left))
	m.mu.Unlock()
	gone := false
	for _, k := range left {
		// Lstat may hang if the volume's server hangs: call it without mu.
		if _, err := os.Lstat(m.place(k).Dir); errors.Is(err, os.ErrNotExist) {
			m.mu.Lock()
			delete(m.left, k)
			m.mu.Unlock()
			gone = true
		}
	}
	if gone {
		m.kick() // pods may wait for them
	}
}
