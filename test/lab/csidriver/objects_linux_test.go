package main

import (
	"crypto/sha256"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

func attachmentName(handle string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driverName+nodeName)))
}

func attachment(handle string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: attachmentName(handle)},
		Status:     storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"device": "/dev/x"}},
	}
}

// attached changes whether the volume is attached.
func (l *lab) attached(is bool) {
	l.t.Helper()
	va := attachment(handle)
	va.Status.Attached = is
	_, err := l.api.StorageV1().VolumeAttachments().Update(l.t.Context(), va, metav1.UpdateOptions{})
	must(l.t, err)
}

// objects are what a cluster would have: two bound claims, one of files and one of a block device.
func objects() []runtime.Object {
	out := []runtime.Object{
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, UID: "node-uid"}},
		&v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "stage"}, Data: map[string][]byte{"key": []byte("secret")}},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driverName}, Spec: storagev1.CSIDriverSpec{
			PodInfoOnMount:       new(true),
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral},
		}},
		attachment(handle), attachment("vol-2"),
	}
	out = append(out, bound("data", "pv", handle, v1.PersistentVolumeFilesystem)...)
	return append(out, bound("disk", "disk-pv", "vol-2", v1.PersistentVolumeBlock)...)
}

func bound(name, pv, handle string, mode v1.PersistentVolumeMode) []runtime.Object {
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	return []runtime.Object{
		&v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
			Spec:       v1.PersistentVolumeClaimSpec{VolumeName: pv},
			Status:     v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound, Capacity: size},
		},
		&v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: pv},
			Spec: v1.PersistentVolumeSpec{
				ClaimRef: &v1.ObjectReference{UID: types.UID("uid-" + name)}, Capacity: size, VolumeMode: &mode,
				AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
					Driver: driverName, VolumeHandle: handle, VolumeAttributes: map[string]string{"from": "pv"},
					NodeStageSecretRef: &v1.SecretReference{Namespace: "ns", Name: "stage"},
				}},
			},
		},
	}
}

func pod(uid string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod-" + uid, UID: types.UID(uid)}}
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	p.Spec.Containers = []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}}
	return p
}
