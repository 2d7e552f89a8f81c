package claim

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/migrate"
)

func objects() (*v1.Pod, *v1.PersistentVolumeClaim, *v1.PersistentVolume) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "pod-1"}, Spec: v1.PodSpec{NodeName: "node"}}
	pvc := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", UID: "pvc-1"},
		Spec:       v1.PersistentVolumeClaimSpec{VolumeName: "pv"},
		Status: v1.PersistentVolumeClaimStatus{
			Phase: v1.ClaimBound, Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			AllocatedResourceStatuses: map[v1.ResourceName]v1.ClaimResourceStatus{v1.ResourceStorage: v1.PersistentVolumeClaimNodeResizePending},
			Conditions: []v1.PersistentVolumeClaimCondition{
				{Type: v1.PersistentVolumeClaimFileSystemResizePending, Status: v1.ConditionTrue}, {Type: "Other", Status: v1.ConditionTrue},
			},
		},
	}
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: v1.PersistentVolumeSpec{
			ClaimRef: &v1.ObjectReference{UID: "pvc-1"},
			Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Gi")},
		},
	}
	return pod, pvc, pv
}

func newClaims(t *testing.T, objs ...runtime.Object) *Claims {
	t.Helper()
	c, err := New(Config{API: fakeapi.Of(fake.NewClientset(objs...)).CoreV1()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestResolve(t *testing.T) {
	direct := &v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	own := &v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}
	owned := func(uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: "Pod", Name: "web", UID: v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "pod-1"}}.UID, Controller: new(uid == "pod-1")}}
	}
	for _, tc := range []struct {
		name   string
		volume *v1.Volume
		change func(*v1.PersistentVolumeClaim, *v1.PersistentVolume)
		want   string
	}{
		{"bound", direct, func(*v1.PersistentVolumeClaim, *v1.PersistentVolume) {}, ""},
		{"missing", direct, func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume) { c.Name = "else" }, "error processing PVC ns/data: failed to fetch PVC from API server: "},
		{"pending", direct, func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume) { c.Status.Phase = v1.ClaimPending }, "error processing PVC ns/data: PVC is not bound"},
		{"no volume", direct, func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume) { c.Spec.VolumeName = "" }, "PVC has empty pvc.Spec.VolumeName"},
		{"deleted", direct, func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{}, []string{"other"}
		}, "PVC is being deleted"},
		{"deleted, protected", direct, func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{}, []string{protection}
		}, ""},
		{"PV missing", direct, func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume) { v.Name = "x" }, "failed to fetch PV pv from API server"},
		{"PV unbound", direct, func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume) { v.Spec.ClaimRef = nil }, "nil pv.Spec.ClaimRef"},
		{"PV of another", direct, func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume) { v.Spec.ClaimRef.UID = "y" }, "its pv.Spec.ClaimRef.UID y does not point to claim.UID pvc-1"},
		{"ephemeral", own, func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume) {
			c.Name, c.OwnerReferences = "web-data", owned("pod-1")
		}, ""},
		{"ephemeral of another", own, func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume) {
			c.Name, c.OwnerReferences = "web-data", owned("other")
		}, "PVC ns/web-data was not created for pod ns/web (pod is not owner)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod, pvc, pv := objects()
			tc.change(pvc, pv)
			_, got, err := newClaims(t, pvc, pv).Resolve(t.Context(), pod, tc.volume)
			switch {
			case tc.want == "" && (err != nil || got.Name != "pv"):
				t.Errorf("%v, error %v", got, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

// A persistent volume of a type that a CSI driver has now comes with the source of the driver, and all the rest.
func TestResolveMigrated(t *testing.T) {
	claim := &v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	pod, pvc, pv := objects()
	pv.Spec.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1", FSType: "xfs"}
	_, got, err := newClaims(t, pvc, pv).Resolve(t.Context(), pod, claim)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Spec.CSI; c == nil || c.Driver != "ebs.csi.aws.com" || c.VolumeHandle != "vol-1" || c.FSType != "xfs" || got.Spec.AWSElasticBlockStore != nil || got.Name != "pv" || got.Spec.ClaimRef == nil ||
		!migrate.Is(got) || migrate.Is(pv) {
		t.Errorf("%+v", got)
	}
	pv.Spec.AWSElasticBlockStore.VolumeID = "aws://zone/disk"
	if _, _, err := newClaims(t, pvc, pv).Resolve(t.Context(), pod, claim); err == nil || !strings.HasPrefix(err.Error(), "failed to translate in-tree pv to CSI: ") {
		t.Errorf("error %v", err)
	}
}

func TestGrow(t *testing.T) {
	for _, tc := range []struct {
		name     string
		err      error
		status   v1.ClaimResourceStatus
		capacity string
		failed   bool
		wantErr  bool
		before   string // the size that is allocated; "" for none
		again    bool   // it has failed before
		request  string // 2Gi if empty
	}{
		{"done", nil, "", "2Gi", false, false, "", false, ""},
		{"infeasible", status.Error(codes.OutOfRange, "too big"), v1.PersistentVolumeClaimNodeResizeInfeasible, "1Gi", true, true, "", false, ""},
		{"in use", status.Error(codes.FailedPrecondition, "in use"), v1.PersistentVolumeClaimNodeResizeInProgress, "1Gi", true, false, "", false, ""},
		{"uncertain", status.Error(codes.DeadlineExceeded, "slow"), v1.PersistentVolumeClaimNodeResizeInProgress, "1Gi", false, true, "", false, ""},
		{"internal", status.Error(codes.Internal, "broken"), v1.PersistentVolumeClaimNodeResizeInProgress, "1Gi", true, true, "", false, ""},
		{"interrupted", volume.ErrReleased, v1.PersistentVolumeClaimNodeResizeInProgress, "1Gi", false, true, "", false, ""},
		{"smaller than the volume", nil, "", "1536Mi", false, false, "1536Mi", true, "1536Mi"},
		{"again", status.Error(codes.Internal, "broken"), v1.PersistentVolumeClaimNodeResizeInProgress, "1Gi", true, true, "2Gi", true, "2Gi"},
		{"the user wants another size", status.Error(codes.Internal, "broken"), v1.PersistentVolumeClaimNodeResizeInProgress, "1Gi", true, true, "2Gi", false, "1536Mi"},
		{"the user wants another size after it failed", status.Error(codes.Internal, "broken"), v1.PersistentVolumeClaimNodeResizeInfeasible, "1Gi", true, true, "2Gi", true, "1536Mi"},
		{"in use, and the user wants another size", status.Error(codes.FailedPrecondition, "in use"), v1.PersistentVolumeClaimNodeResizeInfeasible, "1Gi", true, false, "2Gi", true, "1536Mi"},
		{"a driver that cannot", &volume.NotExpandableError{Driver: "d"}, v1.PersistentVolumeClaimNodeResizeInProgress, "1Gi", true, true, "2Gi", false, ""},
		{"uncertain, and the user wants another size", status.Error(codes.Aborted, "slow"), v1.PersistentVolumeClaimNodeResizeInProgress, "1Gi", true, true, "2Gi", true, "1536Mi"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod, pvc, pv := objects()
			pvc.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(cmp.Or(tc.request, "2Gi"))}
			if tc.before != "" {
				pvc.Status.AllocatedResources = v1.ResourceList{v1.ResourceStorage: resource.MustParse(tc.before)}
			}
			if tc.again {
				pvc.Status.Conditions = append(pvc.Status.Conditions, v1.PersistentVolumeClaimCondition{Type: v1.PersistentVolumeClaimNodeResizeError, Status: v1.ConditionTrue})
			}
			c := newClaims(t, pvc, pv)
			_, err := c.Grow(t.Context(), pod, pvc, pv, func(ctx context.Context, size resource.Quantity) (bool, error) {
				now, _ := c.cfg.API.PersistentVolumeClaims("ns").Get(ctx, "data", metav1.GetOptions{})
				if got := now.Status.AllocatedResourceStatuses[v1.ResourceStorage]; got != v1.PersistentVolumeClaimNodeResizeInProgress {
					t.Errorf("status %q while growing", got)
				}
				if want := resource.MustParse(cmp.Or(tc.before, "2Gi")); size.Cmp(want) != 0 {
					t.Errorf("expanded to %s, want %s", size.String(), want.String())
				}
				return true, tc.err
			})
			if (err != nil) != tc.wantErr {
				t.Errorf("error %v", err)
			}
			now, err := c.cfg.API.PersistentVolumeClaims("ns").Get(t.Context(), "data", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := now.Status.AllocatedResourceStatuses[v1.ResourceStorage]; got != tc.status {
				t.Errorf("status %q, want %q", got, tc.status)
			}
			if got := now.Status.Capacity[v1.ResourceStorage]; got.String() != tc.capacity {
				t.Errorf("capacity %s, want %s", got.String(), tc.capacity)
			}
			var conds []string
			for _, cond := range now.Status.Conditions {
				conds = append(conds, string(cond.Type))
			}
			if all := strings.Join(conds, " "); strings.Contains(all, "NodeResizeError") != tc.failed || !strings.Contains(all, "Other") ||
				(tc.status == "") == strings.Contains(all, "FileSystemResizePending") {
				t.Errorf("conditions %s", all)
			}
		})
	}
}

// A volume that another node has expanded is expanded here, too: the claim's status says already that this is done, and stays.
func TestGrowAfterAnotherNode(t *testing.T) {
	for _, tc := range []struct {
		name    string
		err     error
		wantErr bool
	}{
		{"done", nil, false},
		{"a driver that cannot", &volume.NotExpandableError{Driver: "d"}, false},
		{"infeasible", status.Error(codes.OutOfRange, "too big"), true},
		{"in use", status.Error(codes.FailedPrecondition, "in use"), false},
		{"uncertain", status.Error(codes.DeadlineExceeded, "slow"), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod, pvc, pv := objects()
			pvc.Status.Capacity, pvc.Status.AllocatedResourceStatuses, pvc.Status.Conditions = pv.Spec.Capacity, nil, nil
			pvc.Status.AllocatedResources = pv.Spec.Capacity
			api := fake.NewClientset(pvc, pv)
			told := &toldEvents{}
			c, err := New(Config{API: fakeapi.Of(api).CoreV1(), Events: told})
			if err != nil {
				t.Fatal(err)
			}
			size := ""
			got, err := c.Grow(t.Context(), pod, pvc, pv, func(_ context.Context, to resource.Quantity) (bool, error) {
				size = to.String()
				return true, tc.err
			})
			if (err != nil) != tc.wantErr || got != pvc || size != "2Gi" {
				t.Errorf("expanded to %q, error %v", size, err)
			}
			for _, a := range api.Actions() {
				t.Errorf("a request: %s %s", a.GetVerb(), a.GetResource().Resource)
			}
			var want []string
			if tc.err == nil {
				const message = ` FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv" node`
				want = []string{"pod" + message, "PersistentVolumeClaim ns/data" + message}
			}
			if !slices.Equal(told.all, want) {
				t.Errorf("Events %q, want %q", told.all, want)
			}
		})
	}
}

// Of a claim to which no controller writes how an expansion proceeds, only the end is written.
func TestGrowWithoutStatus(t *testing.T) {
	for _, tc := range []struct {
		name     string
		grew     bool
		err      error
		capacity string
		wantErr  bool
		claimed  string
	}{
		{"done", true, nil, "2Gi", false, "1Gi"},
		{"nothing to do here", false, nil, "1Gi", false, "1Gi"},
		{"a driver that cannot", false, &volume.NotExpandableError{Driver: "d"}, "1Gi", false, "1Gi"},
		{"another node was first", true, nil, "2Gi", false, "2Gi"},
		{"infeasible", false, status.Error(codes.OutOfRange, "too big"), "1Gi", true, "1Gi"},
		{"in use", false, status.Error(codes.FailedPrecondition, "in use"), "1Gi", false, "1Gi"},
		{"uncertain", false, status.Error(codes.DeadlineExceeded, "slow"), "1Gi", true, "1Gi"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod, pvc, pv := objects()
			pvc.Status.AllocatedResourceStatuses, pvc.Status.Capacity = nil, v1.ResourceList{v1.ResourceStorage: resource.MustParse(tc.claimed)}
			pvc.Status.Conditions = append(pvc.Status.Conditions, v1.PersistentVolumeClaimCondition{Type: v1.PersistentVolumeClaimNodeResizeError, Status: v1.ConditionTrue})
			api := fake.NewClientset(pvc, pv)
			told := &toldEvents{}
			c, err := New(Config{API: fakeapi.Of(api).CoreV1(), Events: told})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Grow(t.Context(), pod, pvc, pv, func(_ context.Context, to resource.Quantity) (bool, error) {
				if to.String() != "2Gi" || len(api.Actions()) > 0 {
					t.Errorf("expanded to %s, after %v", to.String(), api.Actions())
				}
				return tc.grew, tc.err
			})
			if has := got.Status.Capacity[v1.ResourceStorage]; (err != nil) != tc.wantErr || has.String() != tc.capacity {
				t.Errorf("%s, error %v", has.String(), err)
			}
			if n, changed := len(api.Actions()), tc.capacity != tc.claimed; n > 1 || (n == 1) != changed || changed == slices.ContainsFunc(got.Status.Conditions, ofResize) {
				t.Errorf("%v, %v", api.Actions(), got.Status.Conditions)
			}
			if (len(told.all) == 2) != tc.grew {
				t.Errorf("Events %q", told.all)
			}
		})
	}
}

type toldEvents struct {
	events.Publisher
	all []string
}

func (e *toldEvents) Pod(_ context.Context, _ *v1.Pod, _, _, reason, message string) {
	e.all = append(e.all, "pod "+reason+": "+message)
}

func (e *toldEvents) About(_ context.Context, _ *v1.Pod, o v1.ObjectReference, _, reason, message string) {
	e.all = append(e.all, o.Kind+" "+o.Namespace+"/"+o.Name+" "+reason+": "+message)
}
