package podobject

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestObjects(t *testing.T) {
	named := func(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }
	spec := &v1.PodSpec{
		ServiceAccountName: "web",
		ImagePullSecrets:   []v1.LocalObjectReference{named("registry")},
		Volumes: []v1.Volume{
			{Name: "keys", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "keys"}}},
			{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: named("conf")}}},
			{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
			{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}},
			{Name: "cache", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			{Name: "kube-api-access-x", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
				{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}},
				{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named("kube-root-ca.crt")}},
				{Secret: &v1.SecretProjection{LocalObjectReference: named("more")}},
				{DownwardAPI: &v1.DownwardAPIProjection{}},
			}}}},
		},
		InitContainers: []v1.Container{{EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: named("keys")}}}}}, // known already
		Containers: []v1.Container{{
			EnvFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: named("settings")}}},
			Env: []v1.EnvVar{
				{Name: "A", Value: "secret"},
				{Name: "B", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: named("password"), Key: "p"}}},
				{Name: "C", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: named("flags"), Key: "f"}}},
				{Name: "D", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			},
		}},
	}
	got, left := Objects("web-0", spec)
	want := []trace.Object{
		{Kind: trace.TargetSecret, Name: "keys"},
		{Kind: trace.TargetConfigMap, Name: "conf"},
		{Kind: trace.TargetClaim, Name: "claim"},
		{Kind: trace.TargetClaim, Name: "web-0-scratch"},
		{Kind: trace.TargetToken, Name: "web"},
		{Kind: trace.TargetConfigMap, Name: "kube-root-ca.crt"},
		{Kind: trace.TargetSecret, Name: "more"},
		{Kind: trace.TargetConfigMap, Name: "settings"},
		{Kind: trace.TargetSecret, Name: "password"},
		{Kind: trace.TargetConfigMap, Name: "flags"},
		{Kind: trace.TargetSecret, Name: "registry"},
	}
	if diff := cmp.Diff(want, got); diff != "" || left != 0 {
		t.Errorf("%d left (-want +got):\n%s", left, diff)
	}
}

// TestManyObjects: a spec may refer to any number of objects.
func TestManyObjects(t *testing.T) {
	spec := &v1.PodSpec{}
	for n := range 1000 {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, v1.LocalObjectReference{Name: fmt.Sprintf("registry-%03d", n)})
	}
	got, left := Objects("web", spec)
	if len(got)+left != 1000 || left == 0 || len(got) < 20 {
		t.Errorf("%d objects, %d left", len(got), left)
	}
	s := Spec(&v1.Pod{Spec: *spec})
	r := trace.Record{Event: &trace.Milestone{Name: trace.MilestoneSeen, Spec: s}}
	if r.Limit(); len(s.Objects) != len(got) || s.Clipped != left {
		t.Errorf("published with %d objects, %d left", len(s.Objects), s.Clipped)
	}
}
