package volume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// hold is why a pod must wait for a volume that another pod has with another SELinux label.
type hold struct {
	key key
	// names are the volume's names in the pod.
	names []string
	// refused says that the other pod keeps the volume; otherwise it is being unmounted.
	refused bool
	// by is the other pod; only its UID is known after a restart of the agent, until it is known.
	by         trace.Pod
	has, needs string
	err        error
}

// sharer is another pod that has or wants a shared volume.
type sharer struct {
	use selinux.Use
	uid types.UID
	ref trace.Pod
}

// usesOf returns the uses of a shared volume by other pods, sorted by UID.
func usesOf(pods map[types.UID]*pod, states map[key]*state, left map[key]leftover, own key, shared string) (out []sharer) {
	if shared == "" {
		return nil
	}
	for uid, p := range pods {
		for k, w := range p.wanted {
			if uid == own.uid || k.plugin != own.plugin || w.shared != shared {
				continue
			}
			u := selinux.Use{Label: w.label, Wanted: true, Turn: w.turn}
			if s := states[k]; s != nil {
				u.Present, u.Has = true, s.label.label
			}
			out = append(out, sharer{u, uid, p.ref})
		}
	}
	present := func(k key, l mountLabel, ref trace.Pod) {
		if k.uid != own.uid && k.plugin == own.plugin && l.shared == shared {
			out = append(out, sharer{selinux.Use{Present: true, Has: l.label}, k.uid, ref})
		}
	}
	for k, s := range states {
		switch p := pods[k.uid]; {
		case p == nil:
			present(k, s.label, trace.Pod{UID: string(k.uid)})
		case p.wanted[k] == nil:
			present(k, s.label, p.ref)
		}
	}
	for k, l := range left {
		present(k, l.label, trace.Pod{UID: string(k.uid)})
	}
	sorting.Stable(out, func(a, b *sharer) int { return strings.Compare(string(a.uid), string(b.uid)) })
	return out
}

// share is [selinux.Share] for a volume that a pod wants.
func share(pods map[types.UID]*pod, states map[key]*state, left map[key]leftover, k key, w *wanted) (selinux.Verdict, *sharer) {
	others := usesOf(pods, states, left, k, w.shared)
	if len(others) == 0 {
		return selinux.May, nil
	}
	uses := make([]selinux.Use, len(others))
	for i := range others {
		uses[i] = others[i].use
	}
	v, i := selinux.Share(selinux.Use{Label: w.label, Wanted: true, Present: states[k] != nil, Turn: w.turn}, uses)
	if i < 0 {
		return v, nil
	}
	return v, &others[i]
}

// holdOf returns why a wanted volume must not be mounted now; nil if it may.
func holdOf(pods map[types.UID]*pod, states map[key]*state, left map[key]leftover, k key, w *wanted) *hold {
	if w.shared == "" || states[k] != nil {
		return nil
	}
	v, by := share(pods, states, left, k, w)
	h := &hold{key: k, names: w.names}
	switch v {
	case selinux.May, selinux.Differs:
		return nil
	case selinux.Refused:
		h.refused, h.has, h.needs = true, by.use.Needs, w.label.Needs
		h.err = selinux.Conflict(k.name, h.has, h.needs)
	case selinux.Unmount:
		h.has, h.needs = by.use.Has, w.label.Mount
		h.err = selinux.Mounted(k.plugin + "/" + w.shared)
	}
	h.by = by.ref
	return h
}

// holds returns the volumes that the pod must wait for. Called with mu.
func (m *Manager) holds(p *pod) (out []*hold) {
	for k, w := range p.wanted {
		h := holdOf(m.pods, m.states, m.left, k, w)
		if h == nil {
			continue
		}
		if h.refused {
			m.labels[countOf(selinux.VolumeErrors, k, w)]++
		}
		out = append(out, h)
	}
	sorting.Stable(out, func(a, b **hold) int { return strings.Compare((*a).key.name, (*b).key.name) })
	return out
}

// wait is the wait of the pod.
func (h *hold) wait() trace.Wait {
	who := "another pod"
	if h.by.Name != "" {
		who = "pod " + h.by.Namespace + "/" + h.by.Name
	}
	does := "has it"
	if !h.refused {
		does = "has it mounted"
	}
	return trace.Wait{
		For: trace.WaitLabel, Target: h.key.target(),
		Note: fmt.Sprintf("%s %s with %s, and this pod needs %s", who, does, labelText(h.has), labelText(h.needs)),
	}
}

func labelText(label string) string {
	if label == "" {
		return "no SELinux label"
	}
	return "the SELinux label " + label
}

// awaitHeld is the wait of a Mount for volumes that other pods have with other SELinux labels. It says so at once, as upstream does, and
// again with each further Mount.
func (m *Manager) awaitHeld(ctx context.Context, obj *v1.Pod, w *waiter, held []*hold) (map[string]criconfig.Volume, error) {
	var why error
	for _, h := range held {
		why = and(why, h.err)
		trace.Point(m.cfg.Bus, w.span, trace.Decision{
			By: trace.ByVolumes, Subject: "volume " + h.key.name, Verdict: trace.VerdictWait, Reason: h.err.Error(),
		})
	}
	m.mu.Lock()
	told := m.missing(obj, why)
	m.mu.Unlock()
	for _, h := range held {
		told.Unattached = slices.DeleteFunc(told.Unattached, func(n string) bool { return slices.Contains(h.names, n) })
		if h.refused {
			told.Unprocessed = append(told.Unprocessed, h.names...)
		}
	}
	slices.Sort(told.Unprocessed)
	m.tellUnmounted(ctx, obj, told)
	bounded, cancel := context.WithTimeoutCause(ctx, patience, told)
	defer cancel()
	err := w.await(bounded)
	switch {
	case err == nil:
		return m.mounted(ctx, obj, w), nil
	case !errors.Is(err, told):
		return nil, m.failed(ctx, obj, w.pod, err)
	}
	m.mu.Lock()
	w.pod.failed = !m.settled(w.pod)
	m.mu.Unlock()
	return nil, told
}
