package volume

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
)

// mountLabel is the SELinux label with which a volume on the node is mounted.
type mountLabel struct {
	// shared identifies the volume across pods; "" if pods cannot share it.
	shared string
	label  string
	// counted says that the volume is in the metric of admitted volumes, or needs not be.
	counted bool
}

// onDisk is a volume that a pod had before this agent knew the pod.
type onDisk struct {
	key   key
	label mountLabel
}

// refusals are volumes that a pod cannot have, by their names in the pod, and why.
type refusals struct {
	names []string
	errs  []error
}

func (r *refusals) add(name string, err error) {
	r.names, r.errs = append(r.names, name), append(r.errs, err)
}

// err returns the errors as one, by their text, each once; nil if there are none.
//
// Upstream: pkg/kubelet/volumemanager/cache/desired_state_of_world.go, PopPodErrors.
func (r *refusals) err() (all error) {
	errs := slices.SortedFunc(slices.Values(r.errs), func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	for _, err := range slices.CompactFunc(errs, func(a, b error) bool { return a.Error() == b.Error() }) {
		all = and(all, err)
	}
	return all
}

// setLabel sets the SELinux label of a pod's volume with that name. It returns an error if the pod cannot have the volume.
type setLabel func(ctx context.Context, name string, k key, w *wanted) error

// foundLabel returns the label of a volume that was found on disk.
func (m *Manager) foundLabel(k key) (out mountLabel) {
	if m.cfg.SELinux == nil || k.block {
		return out
	}
	if l, ok := m.named(k.plugin).(Labeler); ok {
		out.shared, out.label = l.FoundLabel(m.place(k))
	}
	return out
}

// labeler returns what sets the labels of a pod's volumes. A volume that was found on disk is never refused: its containers may run.
func (m *Manager) labeler(obj *v1.Pod, found []onDisk) setLabel {
	if m.cfg.SELinux == nil {
		return func(context.Context, string, key, *wanted) error { return nil }
	}
	options := selinux.OptionsOf(obj)
	r := selinux.Request{Recursive: selinux.Recursive(obj), AllModes: m.cfg.SELinuxAllModes}
	return func(ctx context.Context, name string, k key, w *wanted) error {
		if w.invalid != nil {
			return nil // it is not mounted
		}
		old, began := m.wantedNow(k)
		if old != nil {
			w.turn = old.turn
		}
		if began {
			w.label, w.shared = old.label, old.shared
			return nil
		}
		r := r
		r.PV, r.Options = w.spec.PV, options[name]
		if err := m.ask(ctx, &r, w); err != nil {
			return err
		}
		label, err := selinux.For(r, m.cfg.SELinux)
		if err != nil && slices.ContainsFunc(found, func(f onDisk) bool { return f.key == k }) {
			label.Ignored, err = err, nil
		}
		w.label = label
		if err != nil {
			m.count(selinux.Count{Metric: selinux.MetricOf(err, false), Mode: label.Mode})
		} else if label.Ignored != nil && old == nil {
			m.count(selinux.Count{Metric: selinux.MetricOf(label.Ignored, true), Mode: label.Mode})
		}
		return err
	}
}

// ask asks the plugin whether the volume's driver can mount with labels.
func (m *Manager) ask(ctx context.Context, r *selinux.Request, w *wanted) (err error) {
	l, ok := w.plugin.(Labeler)
	if !ok || w.spec.Block {
		return nil
	}
	if r.PV != nil {
		w.shared = l.SharedName(w.spec)
	}
	r.Driver, err = l.MountsWithLabel(ctx, w.spec)
	return err
}

// wantedNow returns a volume that its pod wants already, nil if it does not, and whether an operation on it has begun: then it keeps its label.
func (m *Manager) wantedNow(k key) (w *wanted, began bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.pods[k.uid]; p != nil {
		w = p.wanted[k]
	}
	return w, w != nil && m.states[k] != nil
}

func (m *Manager) count(c selinux.Count) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.labels[c]++
}

// countOf is the count of a metric about a volume.
func countOf(metric selinux.Metric, k key, w *wanted) selinux.Count {
	plugin := k.plugin
	if d := w.driver(); d != "" {
		plugin += "/" + d
	}
	return selinux.Count{Metric: metric, Plugin: plugin, Mode: w.label.Mode}
}

// queue gives a pod's new volumes their turns among the pods that share them. A volume on the node keeps the label with which it is mounted.
// Called with mu.
func (m *Manager) queue(want map[key]*wanted) {
	for k, w := range want {
		if w.shared == "" {
			continue
		}
		if s := m.states[k]; s != nil && s.label.shared != "" {
			w.label.Mount = s.label.label
		}
		if w.turn != 0 {
			continue
		}
		m.turns++
		w.turn = m.turns
		if v, _ := share(m.pods, m.states, m.left, k, w); v == selinux.Differs {
			m.labels[countOf(selinux.VolumeWarnings, k, w)]++
		}
	}
}

// begin is called when an operation sets up a volume. Called with mu.
func (m *Manager) begin(k key, s *state, w *wanted) {
	if s.label.counted {
		return
	}
	s.label.counted = true
	if w.shared != "" && s.label.shared == "" {
		s.label.shared, s.label.label = w.shared, w.label.Mount
		m.pods[k.uid].wake() // it may have waited for another label
	}
	if w.label.Needs == "" {
		return
	}
	for _, u := range usesOf(m.pods, m.states, nil, k, w.shared) {
		if u.use.Wanted && u.use.Present {
			return // it was counted for that pod
		}
	}
	m.labels[countOf(selinux.Admitted, k, w)]++
}

// wakeSharers wakes the pods that share volumes with a pod. Called with mu.
func (m *Manager) wakeSharers(p *pod) {
	for k, w := range p.wanted {
		if w.shared == "" {
			continue
		}
		for _, u := range usesOf(m.pods, m.states, nil, k, w.shared) {
			if other := m.pods[u.uid]; other != nil {
				other.wake()
			}
		}
	}
}
