package volume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// devicePlugin has volumes that are files or devices, and can be expanded.
type devicePlugin struct{ attachPlugin }

func (p *devicePlugin) SetUpBlock(ctx context.Context, s Spec) (criconfig.Volume, error) {
	return p.SetUp(ctx, s)
}
func (*devicePlugin) TearDownBlock(context.Context, Place) error { return nil }
func (*devicePlugin) MapDir(Spec) string                         { return "/plugins/dev" }

// failingGrowth is a claim whose volume cannot be expanded.
type failingGrowth struct{ Claims }

func (failingGrowth) Grow(context.Context, *v1.Pod, *v1.PersistentVolumeClaim, *v1.PersistentVolume, GrowFunc) (*v1.PersistentVolumeClaim, error) {
	return nil, errors.New("no space")
}

func sizes(claimed, has string) (*v1.PersistentVolumeClaim, *v1.PersistentVolume) {
	pvc, pv := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}}, testPV()
	pvc.Status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(claimed)}
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(has)}
	return pvc, pv
}

func TestEventsOfSetUp(t *testing.T) {
	const (
		global   = `pod SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "pv" globalMapPath "/plugins/dev"`
		mapped   = `pod SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "pv" volumeMapPath "/pods/u/volumeDevices/p"`
		readOnly = ` FileSystemResizeFailed: MountVolume.NodeExpandVolume failed for volume "pv" requested read-only file system`
	)
	expand := func(grow, skip bool) func(*job) { return func(j *job) { j.grow, j.skip, j.quiet = grow, skip, skip } }
	for name, c := range map[string]struct {
		change func(*job)
		has    string // the size of the persistent volume; the claim has 1Gi
		plain  bool   // the plugin does no more than it must
		want   []string
	}{
		"files":                     {},
		"a device":                  {change: func(j *job) { j.key.block = true }, want: []string{global, mapped}},
		"an adopted device":         {change: func(j *job) { j.key.block, j.adopt = true, true }},
		"read-only":                 {change: func(j *job) { j.want.spec.ReadOnly = true }},
		"read-only and larger":      {change: func(j *job) { j.want.spec.ReadOnly = true }, has: "2Gi", want: []string{"pod" + readOnly, "PersistentVolumeClaim ns/data" + readOnly}},
		"it is there already":       {change: func(j *job) { j.want.spec.ReadOnly, j.quiet = true, true }, has: "2Gi"},
		"a plugin without sizes":    {change: func(j *job) { j.want.spec.ReadOnly = true }, has: "2Gi", plain: true},
		"larger":                    {has: "2Gi"},
		"without a claim":           {change: func(j *job) { j.want.spec.ReadOnly, j.want.spec.PVC = true, nil }, has: "2Gi"},
		"cannot be expanded":        {change: expand(true, false), want: []string{`pod FailedMount: MountVolume.Setup failed while expanding volume for volume "pv" : no space`}},
		"cannot be expanded in use": {change: expand(true, true), want: []string{`pod VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv" : no space`}},
		"a device, not expanded": {
			change: func(j *job) { j.grow, j.key.block = true, true },
			want:   []string{global, mapped, `pod FailedMapVolume: MapVolume.MarkVolumeAsMounted failed while expanding volume for volume "pv" : no space`},
		},
	} {
		pvc, pv := sizes("1Gi", "1Gi")
		if c.has != "" {
			pvc, pv = sizes("1Gi", c.has)
		}
		j := job{op: op{key: key{uid: "u", plugin: "p", name: "pv"}}, want: &wanted{plugin: &devicePlugin{}, spec: Spec{Pod: claimPod("u"), PVC: pvc, PV: pv, Volume: asVolume(pv)}}}
		if c.plain {
			j.want.plugin = &contentPlugin{}
		}
		if c.change != nil {
			c.change(&j)
		}
		said := &toldEvents{objects: true}
		m := &Manager{cfg: Config{Events: said, Claims: failingGrowth{}}}
		j.want.spec.Block = j.key.block
		j.want.spec.Place = m.place(j.key)
		j.want.spec.Dir = "/" + j.want.spec.Dir
		if _, err := m.setUp(t.Context(), j); err != nil {
			m.tell(t.Context(), j, err)
		}
		if got := said.take(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A disk with another file system is an Event of its persistent volume, too, at each stage.
func TestEventOfAnotherFileSystem(t *testing.T) {
	mismatch := mount.NewMountError(mount.FilesystemMismatch, "it is xfs")
	_, pv := sizes("1Gi", "1Gi")
	for name, c := range map[string]struct {
		err  error
		pv   *v1.PersistentVolume
		want string
	}{
		"at a stage": {
			&StageError{Stage: "MountVolume.MountDevice", Err: fmt.Errorf("mount it: %w", mismatch)}, pv,
			`PersistentVolume /pv FailedMountOnFilesystemMismatch: MountVolume failed for volume "pv" mount it: it is xfs`,
		},
		"by itself":                   {mismatch, pv, `PersistentVolume /pv FailedMountOnFilesystemMismatch: MountVolume failed for volume "pv" it is xfs`},
		"not of a persistent volume":  {mismatch, nil, ""},
		"another error of the mount":  {mount.NewMountError(mount.HasFilesystemErrors, "it is broken"), pv, ""},
		"an error of something other": {errors.New("no"), pv, ""},
	} {
		said := &toldEvents{objects: true}
		m := &Manager{cfg: Config{Events: said}}
		m.tell(t.Context(), job{op: op{key: key{name: "pv"}}, want: &wanted{spec: Spec{Pod: claimPod("u"), PV: c.pv}}}, c.err)
		got := said.take()
		if n := len(got); n == 0 || !strings.HasPrefix(got[n-1], "pod FailedMount: ") || strings.Join(got[:n-1], "\n") != c.want {
			t.Errorf("%s: %q, want %q and FailedMount", name, got, c.want)
		}
	}
}

// A block volume that may not be on this node is a failed mount, as upstream.
func TestBlockVolumeOfOtherNodes(t *testing.T) {
	_, pv := sizes("1Gi", "1Gi")
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"a"}}},
	}}}}
	said := &toldEvents{}
	m := &Manager{cfg: Config{Events: said, NodeLabels: func() map[string]string { return map[string]string{"zone": "b"} }}}
	j := job{op: op{key: key{name: "pv", block: true}}, want: &wanted{spec: Spec{Pod: claimPod("u"), PV: pv}}}
	m.tell(t.Context(), j, m.allowed(j))
	if want := []string{`FailedMount: MapVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms`}; !slices.Equal(said.all, want) {
		t.Errorf("%q, want %q", said.all, want)
	}
}
