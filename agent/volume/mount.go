package volume

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume/migrate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Mount returns when all volumes that the pod's containers use are mounted, by volume name. A further call is cheap, and updates
// volumes after a change of the pod, or sets up volumes that were removed.
//
// It fails as soon as each volume is either mounted or has failed; the reconciler retries, and a further Mount waits for the next
// attempt. If ctx ends first, operations in progress continue. A volume whose content is missing ([MissingError]) is not a failure: it is in
// the result, with the reason, and the further Mount does not wait for its back-off, because the plugin has its own. The volumes are desired
// until Unmount. The pod is kept: do not change it.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, WaitForAttachAndMount.
func (m *Manager) Mount(ctx context.Context, obj *v1.Pod) (map[string]criconfig.Volume, error) {
	if !element(string(obj.UID)) {
		return nil, fmt.Errorf("pod %s/%s: metadata.uid %q cannot name a directory", obj.Namespace, obj.Name, obj.UID)
	}
	if len(obj.Spec.Volumes) == 0 {
		return map[string]criconfig.Volume{}, nil
	}
	use := usageOf(obj)
	claims, no := m.resolve(ctx, obj, use)
	found, err := m.scanUnknown(obj.UID)
	if err != nil {
		return nil, err
	}
	want, err := m.wants(ctx, obj, use, claims, m.labeler(obj, found), &no)
	if err != nil {
		return nil, err
	}
	if len(want) == 0 && len(no.errs) == 0 {
		return map[string]criconfig.Volume{}, nil
	}
	ref := trace.Pod{Namespace: obj.Namespace, Name: obj.Name, UID: string(obj.UID)}
	m.look(obj.UID)
	if m.cfg.SELinux != nil {
		m.looked.Do(m.findLeft)
	}
	m.mu.Lock()
	p := m.know(ref, found)
	m.queue(want)
	p.want(ref, trace.ForPod(trace.FromContext(ctx), ref), want, m.states)
	p.keep(claims)
	held := m.holds(p)
	w := m.waiter(p, setUp)
	m.mu.Unlock()
	m.inUseChanged(want)
	m.kick()

	if err := no.err(); err != nil {
		return nil, m.unprocessed(ctx, obj, no.names, err)
	}
	if len(held) > 0 {
		return m.awaitHeld(ctx, obj, w, held)
	}
	if err := w.await(ctx); err != nil {
		return nil, m.failed(ctx, obj, p, err)
	}
	return m.mounted(ctx, obj, w), nil
}

// mounted returns the result of a wait. If the content of a volume is missing, the pod is synced again when all of it is there.
func (m *Manager) mounted(ctx context.Context, obj *v1.Pod, w *waiter) map[string]criconfig.Volume {
	if w.missing {
		_ = m.failed(ctx, obj, w.pod, nil) // there is none
	}
	return w.result
}

// want replaces the pod's desired volumes. Called with mu.
func (p *pod) want(ref trace.Pod, span trace.Span, want map[key]*wanted, states map[key]*state) {
	for k, w := range want {
		old, s := p.wanted[k], states[k]
		if s != nil && (p.released || old == nil || old.version != w.version) {
			s.fresh()
		}
		if s != nil && !s.busy && isMissing(s.err) {
			s.retryAt = time.Time{}
		}
	}
	p.ref, p.span, p.wanted = ref, span, want
	if p.released {
		p.released, p.since, p.failed = false, time.Now(), false
		p.wake()
	}
}

// keep stores claims, except those that were read again meanwhile. Called with mu.
func (p *pod) keep(claims map[string]resolved) {
	for name, c := range p.claims {
		if _, still := claims[name]; still {
			claims[name] = c
		}
	}
	p.claims = claims
}

// wants returns the pod's desired volumes. It omits a volume that no container uses, and a volume whose claim could not
// be resolved. It adds the volumes whose label is refused to no.
//
// Upstream: pkg/kubelet/volumemanager/populator, processPodVolumes.
func (m *Manager) wants(ctx context.Context, obj *v1.Pod, use usage, claims map[string]resolved, label setLabel, no *refusals) (want map[key]*wanted, err error) {
	want = map[key]*wanted{}
	for i := range obj.Spec.Volumes {
		v := &obj.Spec.Volumes[i]
		if !use.any(v.Name) {
			continue
		}
		if !element(v.Name) {
			return nil, fmt.Errorf("spec.volumes[%d].name %q: want a DNS label", i, v.Name)
		}
		claim, bound := claims[v.Name]
		if isClaim(v) && !bound {
			continue
		}
		k, w, err := m.wantOne(ctx, obj, v, claim)
		if err != nil {
			return nil, err
		}
		if err := label(ctx, v.Name, k, w); err != nil {
			no.add(v.Name, err)
			continue
		}
		if same := want[k]; same != nil {
			same.names = append(same.names, v.Name)
			continue
		}
		want[k] = w
	}
	return want, nil
}

func (m *Manager) wantOne(ctx context.Context, obj *v1.Pod, v *v1.Volume, claim resolved) (key, *wanted, error) {
	spec, err := specOf(obj, v, claim)
	if err != nil {
		return key{}, nil, err
	}
	plugin := m.pluginOf(spec)
	if plugin == nil {
		return key{}, nil, m.unsupported(v, spec)
	}
	k := key{obj.UID, plugin.Name(), flat(spec.Volume.Name), spec.Block}
	if !element(k.name) {
		return key{}, nil, fmt.Errorf("volume %q: its source %q cannot name a directory", v.Name, spec.Volume.Name)
	}
	if f, ok := plugin.(Family); ok {
		if k.plugin = f.DriverOf(spec); !element(flat(k.plugin)) {
			return key{}, nil, fmt.Errorf("volume %q: driver %q: want a name such as example.com/disk", v.Name, k.plugin)
		}
	}
	spec.Place = m.place(k)
	w := &wanted{spec: spec, plugin: plugin, names: []string{v.Name}}
	m.mu.Lock()
	w.size = growth(claim, spec.ReadOnly, m.sizeOnNode(k))
	m.mu.Unlock()
	if w.invalid = w.check(); w.invalid != nil {
		return k, w, nil
	}
	if a, ok := plugin.(Attachable); ok {
		if w.attach, err = a.AttachName(ctx, spec); err != nil {
			return key{}, nil, &Error{Op: setUp.String(), Volume: v.Name, Plugin: k.plugin, Err: err}
		}
	}
	return k, w, nil
}

// check sets the version. An error says that the volume can never be set up: its operation fails, and the pod's other volumes are set up.
func (w *wanted) check() (err error) {
	if _, can := w.plugin.(BlockPlugin); w.spec.Block && !can {
		return fmt.Errorf("volumeMode is Block, which %s does not do", w.plugin.Name())
	}
	w.version, err = w.plugin.Version(w.spec)
	return err
}

// specOf returns a pod's volume as the plugins get it. A volume in the pod of a type that a CSI driver has now is a persistent volume of that
// driver, without a claim; claims come translated.
//
// Upstream: pkg/kubelet/volumemanager/populator, createVolumeSpec.
func specOf(obj *v1.Pod, v *v1.Volume, claim resolved) (Spec, error) {
	spec := Spec{Pod: obj, Volume: v}
	if claim.pv != nil {
		spec.Volume, spec.PV, spec.PVC = asVolume(claim.pv), claim.pv, claim.pvc
		spec.ReadOnly = v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly
		spec.Block = claim.pv.Spec.VolumeMode != nil && *claim.pv.Spec.VolumeMode == v1.PersistentVolumeBlock
		return spec, nil
	}
	pv, err := migrate.Inline(v, obj.Namespace)
	if err != nil {
		return spec, fmt.Errorf("volume %q: %w", v.Name, err)
	}
	if pv != nil {
		spec.Volume, spec.PV = asVolume(pv), pv
	}
	return spec, nil
}

// named returns the plugin of volumes below this name on the node; nil if the agent has none.
func (m *Manager) named(name string) Plugin {
	if p := m.plugins[name]; p != nil {
		return p
	}
	for _, p := range m.cfg.Plugins {
		if f, ok := p.(Family); ok && f.Owns(name) {
			return p
		}
	}
	return nil
}

func (m *Manager) pluginOf(s Spec) Plugin {
	for _, p := range m.cfg.Plugins {
		if p.CanSupport(s.Volume) {
			return p
		}
		if pp, ok := p.(PersistentPlugin); ok && s.PV != nil && pp.CanSupportPV(s.PV) {
			return p
		}
	}
	return nil
}

// usage says which volumes the pod's containers use, and how.
type usage struct{ mounts, devices map[string]bool }

func (u usage) any(name string) bool { return u.mounts[name] || u.devices[name] }

func usageOf(obj *v1.Pod) usage {
	use := usage{map[string]bool{}, map[string]bool{}}
	note := func(mounts []v1.VolumeMount, devices []v1.VolumeDevice) {
		for _, m := range mounts {
			use.mounts[m.Name] = true
		}
		for _, d := range devices {
			use.devices[d.Name] = true
		}
	}
	for _, list := range [][]v1.Container{obj.Spec.InitContainers, obj.Spec.Containers} {
		for i := range list {
			note(list[i].VolumeMounts, list[i].VolumeDevices)
		}
	}
	for i := range obj.Spec.EphemeralContainers {
		note(obj.Spec.EphemeralContainers[i].VolumeMounts, obj.Spec.EphemeralContainers[i].VolumeDevices)
	}
	return use
}

// scanUnknown scans the disk for the volumes of a pod that this agent does not know.
func (m *Manager) scanUnknown(uid types.UID) ([]onDisk, error) {
	m.mu.Lock()
	known := m.pods[uid] != nil
	m.mu.Unlock()
	if known {
		return nil, nil
	}
	keys, err := m.scan(uid)
	var out []onDisk
	for _, k := range keys {
		out = append(out, onDisk{k, m.foundLabel(k)})
	}
	return out, err
}

// Refresh requests that volumes of a pod are set up again soon, because their content has changed: those with the given
// names in the pod, or all of them. It does nothing for a pod without these volumes.
func (m *Manager) Refresh(uid types.UID, volumes ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[uid]
	if p == nil || p.released {
		return
	}
	for k, w := range p.wanted {
		named := slices.ContainsFunc(w.names, func(n string) bool { return slices.Contains(volumes, n) })
		if s := m.states[k]; s != nil && (named || len(volumes) == 0) {
			s.stale = true
			s.fresh()
		}
	}
	m.kick()
}

// Retry requests that failed operations of a plugin are retried now, because their cause may be gone.
func (m *Manager) Retry(plugin string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, s := range m.states {
		if k.plugin == plugin && !s.busy && s.err != nil {
			s.fresh()
		}
	}
	m.kick()
}

// Reschedule asks a plugin again when its volumes must be set up again, if that was never.
func (m *Manager) Reschedule(plugin string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, s := range m.states {
		p := m.pods[k.uid]
		if k.plugin != plugin || p == nil || p.wanted[k] == nil || !s.refreshAt.IsZero() {
			continue
		}
		w := p.wanted[k]
		r, ok := w.plugin.(Refresher)
		if !ok {
			continue
		}
		switch at := r.RefreshAt(w.spec); {
		case at.IsZero():
		case s.busy:
			s.stale = true // the operation may have asked before
		case s.mounted:
			s.refreshAt = at
		}
	}
	m.kick()
}
