package events

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podRef(p *v1.Pod, field string) v1.ObjectReference {
	ref := refOf("Pod", p)
	ref.FieldPath = field
	return ref
}

// ClaimRef names a claim, for [Publisher.About].
func ClaimRef(pvc *v1.PersistentVolumeClaim) v1.ObjectReference {
	return refOf("PersistentVolumeClaim", pvc)
}

// VolumeRef names a persistent volume, for [Publisher.About].
func VolumeRef(pv *v1.PersistentVolume) v1.ObjectReference { return refOf("PersistentVolume", pv) }

func refOf(kind string, o metav1.Object) v1.ObjectReference {
	return v1.ObjectReference{
		APIVersion: "v1", Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}
