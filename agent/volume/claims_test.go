package volume

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestGrowth(t *testing.T) {
	const (
		pending, infeasible = v1.PersistentVolumeClaimNodeResizePending, v1.PersistentVolumeClaimNodeResizeInfeasible
		controller          = v1.PersistentVolumeClaimControllerResizeInProgress
	)
	one, many := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteMany}
	for _, c := range []struct {
		name      string
		modes     []v1.PersistentVolumeAccessMode
		claimed   string
		status    v1.ClaimResourceStatus
		allocated string // "" for none
		has       string // on the node
		not       bool   // the annotation
		readOnly  bool
		want      string
	}{
		{name: "as large as it is", modes: one, claimed: "2Gi", has: "2Gi"},
		{name: "this node is to expand it", modes: one, claimed: "1Gi", status: pending, has: "1Gi", want: "2Gi"},
		{name: "larger than the claim, and nobody writes why", modes: one, claimed: "1Gi", has: "1Gi", want: "2Gi"},
		{name: "larger than the claim, not mounted yet", modes: one, claimed: "1Gi", want: "2Gi"},
		{name: "expanded, and nobody writes by whom", modes: one, claimed: "2Gi", has: "1Gi", want: "2Gi"},
		{name: "this node has it already", modes: one, claimed: "1Gi", allocated: "2Gi", status: pending, has: "2Gi"},
		{name: "the claim has it already", modes: one, claimed: "2Gi", allocated: "2Gi", status: pending},
		{name: "to less than the volume has", modes: one, claimed: "1Gi", allocated: "1536Mi", status: pending, has: "1Gi", want: "1536Mi"},
		{name: "another node has expanded it to less than the volume has", modes: many, claimed: "1536Mi", allocated: "1536Mi", has: "1Gi", want: "1536Mi"},
		{name: "to less than the volume has, done", modes: many, claimed: "1536Mi", allocated: "1536Mi", has: "1536Mi"},
		{name: "the controller works on it", modes: one, claimed: "1Gi", allocated: "2Gi", status: controller, has: "1Gi"},
		{name: "the controller has done all", modes: one, claimed: "2Gi", allocated: "2Gi", has: "1Gi"},
		{name: "another node has expanded it", modes: many, claimed: "2Gi", allocated: "2Gi", has: "1Gi", want: "2Gi"},
		{name: "this node has expanded it, too", modes: many, claimed: "2Gi", has: "2Gi"},
		{name: "a larger claim", modes: many, claimed: "3Gi", allocated: "2Gi", has: "1Gi", want: "2Gi"},
		{name: "nodes have nothing to do", modes: many, claimed: "2Gi", allocated: "2Gi", has: "1Gi", not: true},
		{name: "not mounted yet", modes: many, claimed: "2Gi"},
		{name: "read-only", modes: many, claimed: "2Gi", has: "1Gi", readOnly: true},
		{name: "another node has failed", modes: many, claimed: "2Gi", status: infeasible, has: "1Gi"},
		{name: "the controller works on a shared one", modes: many, claimed: "1Gi", allocated: "2Gi", status: controller, has: "1Gi"},
		{name: "allocated, and nothing is pending", modes: one, claimed: "1Gi", allocated: "2Gi", has: "1Gi"},
	} {
		pvc, pv := &v1.PersistentVolumeClaim{}, testPV()
		pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Gi")}
		pvc.Spec.AccessModes = c.modes
		pvc.Status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(c.claimed)}
		if c.allocated != "" {
			pvc.Status.AllocatedResources = v1.ResourceList{v1.ResourceStorage: resource.MustParse(c.allocated)}
		}
		if c.status != "" {
			pvc.Status.AllocatedResourceStatuses = map[v1.ResourceName]v1.ClaimResourceStatus{v1.ResourceStorage: c.status}
		}
		if c.not {
			pvc.Annotations = map[string]string{"volume.kubernetes.io/node-expansion-not-required": "true"}
		}
		var has resource.Quantity
		if c.has != "" {
			has = resource.MustParse(c.has)
		}
		if got := growth(resolved{pvc, pv}, c.readOnly, has); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := growth(resolved{}, false, resource.MustParse("1Gi")); got != "" {
		t.Errorf("no claim: %q", got)
	}
}

// A volume that several nodes share is expanded on this one once, after another node has written its size to the claim.
func TestSharedVolumeGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sized := func(size string) *v1.PersistentVolume {
			pv := testPV()
			pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}
			return pv
		}
		p, claims := &attachPlugin{}, &oneClaim{pv: sized("1Gi"), size: "1Gi", modes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}}
		m := running(t, Config{Plugins: []Plugin{p}, Claims: claims})
		pod := claimPod("u", "data")
		for i, size := range []string{"1Gi", "2Gi", "3Gi"} {
			claims.mu.Lock()
			claims.pv, claims.size = sized(size), size
			claims.mu.Unlock()
			if _, err := m.Mount(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if want := []string{"2Gi", "3Gi"}[:i]; !slices.Equal(claims.grown, want) || p.expands != i || p.count() != 1 {
				t.Errorf("grown %v, %d calls, %d set-ups; want %v", claims.grown, p.expands, p.count(), want)
			}
			if _, err := m.Mount(t.Context(), pod); err != nil {
				t.Error(err)
			}
		}
	})
}

// A pod's errors are in the order of their text, and each is there once: two volumes may have one claim.
func TestRefusals(t *testing.T) {
	var no refusals
	if err := no.err(); err != nil {
		t.Error(err)
	}
	gone := errors.New("PVC ns/b is gone")
	no.add("z", gone)
	no.add("y", errors.New("PVC ns/b is gone"))
	no.add("x", errors.New("PVC ns/a is not bound"))
	err := no.err()
	if err == nil || err.Error() != "PVC ns/a is not bound; PVC ns/b is gone" || !errors.Is(err, gone) || !slices.Equal(no.names, []string{"z", "y", "x"}) {
		t.Errorf("%v, %q", err, no.names)
	}
}
