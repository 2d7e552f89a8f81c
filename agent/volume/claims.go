package volume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/trace"
)

// claimPeriod is how often the claims of mounted volumes are read again, for their size.
const claimPeriod = time.Minute

// claimDelays are the delays between attempts to resolve a claim: just after a pod was bound, the API server may not
// know yet that the node may read the claim.
var claimDelays = [...]time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 500 * time.Millisecond}

// GrowFunc makes a volume at least as large as size; see [Expander].
type GrowFunc = func(ctx context.Context, size resource.Quantity) (done bool, err error)

// resolved is a claim with its bound persistent volume.
type resolved struct {
	pvc *v1.PersistentVolumeClaim
	pv  *v1.PersistentVolume
}

// errNoClaims says that there is no API server for claims.
var errNoClaims = errors.New("persistent volume claims need an API server, and this agent runs without one")

// isClaim reports whether the volume is from a claim.
func isClaim(v *v1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }

// resolve returns the pod's claims by volume name. It does not read those again that it knows. It also returns
// those that fail.
//
// Upstream: pkg/kubelet/volumemanager/populator, createVolumeSpec.
func (m *Manager) resolve(ctx context.Context, obj *v1.Pod, use usage) (claims map[string]resolved, no refusals) {
	claims = map[string]resolved{}
	m.mu.Lock()
	if p := m.pods[obj.UID]; p != nil && !p.released {
		maps.Copy(claims, p.claims)
	}
	m.mu.Unlock()
	for i := range obj.Spec.Volumes {
		v := &obj.Spec.Volumes[i]
		if _, known := claims[v.Name]; known || !isClaim(v) || !use.any(v.Name) {
			continue
		}
		c, one := m.resolveOne(ctx, obj, v)
		if one == nil {
			one = checkMode(v.Name, c.pv, use)
		}
		if one != nil {
			no.add(v.Name, one)
			continue
		}
		claims[v.Name] = c
	}
	return claims, no
}

func (m *Manager) resolveOne(ctx context.Context, obj *v1.Pod, v *v1.Volume) (resolved, error) {
	if m.cfg.Claims == nil {
		return resolved{}, fmt.Errorf("volume %q: %w", v.Name, errNoClaims)
	}
	for try := 0; ; try++ {
		pvc, pv, err := m.cfg.Claims.Resolve(ctx, obj, v)
		if err == nil {
			return resolved{pvc, pv}, nil
		}
		if try == len(claimDelays) || ctx.Err() != nil {
			return resolved{}, err
		}
		wait := trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetClaim, Name: v.Name}, Tries: try + 1, Until: time.Now().Add(claimDelays[try]).UnixNano()}.WithCause(err.Error())
		span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
		clock.Sleep(ctx, claimDelays[try])
		trace.End(m.cfg.Bus, span, wait)
	}
}

// checkMode returns an error if a block volume is used as files, or a file system as a device.
func checkMode(name string, pv *v1.PersistentVolume, use usage) error {
	mode := v1.PersistentVolumeFilesystem
	if pv.Spec.VolumeMode != nil {
		mode = *pv.Spec.VolumeMode
	}
	switch {
	case use.mounts[name] && mode != v1.PersistentVolumeFilesystem:
		return fmt.Errorf("volume %s has volumeMode %s, but is specified in volumeMounts", name, mode)
	case use.devices[name] && mode != v1.PersistentVolumeBlock:
		return fmt.Errorf("volume %s has volumeMode %s, but is specified in volumeDevices", name, mode)
	}
	return nil
}

// asVolume returns a persistent volume as a pod's volume, as far as possible.
func asVolume(pv *v1.PersistentVolume) *v1.Volume {
	return &v1.Volume{Name: pv.Name, VolumeSource: v1.VolumeSource{HostPath: pv.Spec.HostPath, NFS: pv.Spec.NFS}}
}

// pvType returns a persistent volume's type as in a manifest.
func pvType(pv *v1.PersistentVolume) string {
	source := reflect.ValueOf(pv.Spec.PersistentVolumeSource)
	for i := range source.NumField() {
		if f := source.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "(none)"
}

// notOnNodes is the annotation of a claim whose volume needs no expansion on nodes.
//
// Upstream: pkg/volume/util/types/types.go, NodeExpansionNotRequired.
const notOnNodes = "volume.kubernetes.io/node-expansion-not-required"

// NodeSize returns the size to which nodes expand a claim's volume: the claim's allocated size, which may be less than that of the persistent
// volume after an expansion that failed. With a controller that is older than allocated sizes, it is the persistent volume's.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, expandVolumeDuringMount, nodeExpandVolume.
func NodeSize(pvc *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) resource.Quantity {
	if size := pvc.Status.AllocatedResources[v1.ResourceStorage]; !size.IsZero() {
		return size
	}
	return pv.Spec.Capacity[v1.ResourceStorage]
}

// growth returns the size to which the volume must be expanded on this node, "" for none. has is the size that it has on this node, zero if
// it is not there: then it has the size that its claim has.
//
// Upstream: pkg/kubelet/volumemanager/populator, checkVolumeFSResize;
// pkg/volume/util/operationexecutor/operation_generator.go, expandVolumeDuringMount, nodeExpandVolume; node_expander.go, runPreCheck.
func growth(c resolved, readOnly bool, has resource.Quantity) string {
	if c.pvc == nil || readOnly {
		return ""
	}
	claimed, full, want := c.pvc.Status.Capacity[v1.ResourceStorage], c.pv.Spec.Capacity[v1.ResourceStorage], NodeSize(c.pvc, c.pv)
	if has.IsZero() {
		has = claimed
	}
	if claimed.IsZero() || has.Cmp(full) >= 0 {
		return ""
	}
	pending := c.pvc.Status.AllocatedResourceStatuses[v1.ResourceStorage]
	switch {
	case pending == v1.PersistentVolumeClaimNodeResizePending, pending == v1.PersistentVolumeClaimNodeResizeInProgress:
		return want.String()
	case pending != "":
		return ""
	case WithoutStatus(c.pvc):
		return full.String()
	case claimed.Cmp(want) >= 0 && onEachNode(c.pvc) && has.Cmp(want) < 0:
		return want.String() // another node has expanded it
	}
	return ""
}

// WithoutStatus reports whether nobody writes to the claim how its expansion proceeds: its controller is older than allocated sizes, or the
// persistent volume was expanded for an earlier claim, or by an administrator. Then a node expands a volume that is larger than its claim.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, checkForRecoveryFromExpansion.
func WithoutStatus(pvc *v1.PersistentVolumeClaim) bool {
	return pvc.Status.AllocatedResourceStatuses[v1.ResourceStorage] == "" && pvc.Status.AllocatedResources == nil
}

// onEachNode reports whether the volume must be expanded on each of its nodes.
func onEachNode(pvc *v1.PersistentVolumeClaim) bool {
	return slices.Contains(pvc.Spec.AccessModes, v1.ReadWriteMany) && !metav1.HasAnnotation(pvc.ObjectMeta, notOnNodes)
}

// sizeOnNode returns the size that a volume has on this node; zero if it is not there. Called with mu.
func (m *Manager) sizeOnNode(k key) (has resource.Quantity) {
	if s := m.states[k]; s != nil {
		has = s.size.has
	}
	return has
}

// watchClaims reads the claims of mounted volumes periodically. Nodes may not watch claims, only get them.
func (m *Manager) watchClaims(ctx context.Context) {
	if m.cfg.Claims == nil {
		return
	}
	for ctx.Err() == nil {
		// With jitter, because otherwise all nodes would ask at once after a restart of the API server.
		clock.Sleep(ctx, claimPeriod+rand.N(claimPeriod/10))
		for _, obj := range m.claimants() {
			if ctx.Err() != nil {
				return
			}
			m.recheck(ctx, obj)
		}
	}
}

// claimants returns the pods that have claims.
func (m *Manager) claimants() []*v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*v1.Pod
	for _, p := range m.pods {
		for _, w := range p.wanted {
			if w.spec.PVC != nil && !p.released {
				out = append(out, w.spec.Pod)
				break
			}
		}
	}
	return out
}

// recheck resolves a pod's claims again and stores which volumes must be expanded. A claim that cannot be resolved now
// stays unchanged: a pod keeps running without the API server.
func (m *Manager) recheck(ctx context.Context, obj *v1.Pod) {
	for i := range obj.Spec.Volumes {
		v := &obj.Spec.Volumes[i]
		if !isClaim(v) {
			continue
		}
		pvc, pv, err := m.cfg.Claims.Resolve(ctx, obj, v)
		if err != nil {
			continue
		}
		m.mu.Lock()
		m.reclaim(obj.UID, v.Name, resolved{pvc, pv})
		m.mu.Unlock()
	}
	m.kick()
}

// reclaim stores the new state of a claim. Called with mu.
func (m *Manager) reclaim(uid types.UID, name string, c resolved) {
	p := m.pods[uid]
	if p == nil || p.released {
		return
	}
	for k, w := range p.wanted {
		if w.spec.PV == nil || w.spec.PV.Name != c.pv.Name || !slices.Contains(w.names, name) {
			continue
		}
		changed := *w
		changed.spec.PVC, changed.spec.PV = c.pvc, c.pv
		changed.size = growth(c, w.spec.ReadOnly, m.sizeOnNode(k))
		if s := m.states[k]; s != nil && changed.size == "" {
			s.size.to = ""
		}
		p.wanted[k] = &changed
		p.claims[name] = c
	}
}
