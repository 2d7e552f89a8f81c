package podobject

import (
	"slices"
	"unsafe"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeevent"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxObjects bounds the objects that are taken of a spec, in bytes.
const maxObjects = 2 << 10

// Objects are the ConfigMaps, Secrets, tokens and claims that a pod's spec refers to: the kubelet asks the API server for each. left is how many
// are more than 2 KiB. Upstream: pkg/api/v1/pod/util.go. Users of the cluster write specs.
func Objects(pod string, spec *v1.PodSpec) (out []trace.Object, left int) {
	o := objects{}
	for i := range spec.Volumes {
		o.volume(pod, spec, &spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		o.environment(spec.InitContainers[i].EnvFrom, spec.InitContainers[i].Env)
	}
	for i := range spec.Containers {
		o.environment(spec.Containers[i].EnvFrom, spec.Containers[i].Env)
	}
	for i := range spec.EphemeralContainers {
		o.environment(spec.EphemeralContainers[i].EnvFrom, spec.EphemeralContainers[i].Env)
	}
	for _, s := range spec.ImagePullSecrets {
		o.add(trace.TargetSecret, s.Name)
	}
	return o.all, o.left
}

// objects are those that were found so far, and their size.
type objects struct {
	all        []trace.Object
	size, left int
}

func (o *objects) add(kind trace.TargetKind, name string) {
	of := trace.Object{Kind: kind, Name: kubeevent.Clean(name, 253)}
	if name == "" || slices.Contains(o.all, of) {
		return
	}
	size := int(unsafe.Sizeof(of)) + len(of.Kind) + len(of.Name)
	if o.size+size > maxObjects {
		o.left++
		return
	}
	o.size += size
	o.all = append(o.all, of)
}

func (o *objects) volume(pod string, spec *v1.PodSpec, v *v1.Volume) {
	switch {
	case v.Secret != nil:
		o.add(trace.TargetSecret, v.Secret.SecretName)
	case v.ConfigMap != nil:
		o.add(trace.TargetConfigMap, v.ConfigMap.Name)
	case v.PersistentVolumeClaim != nil:
		o.add(trace.TargetClaim, v.PersistentVolumeClaim.ClaimName)
	case v.Ephemeral != nil:
		o.add(trace.TargetClaim, pod+"-"+v.Name)
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			o.projection(spec, &v.Projected.Sources[i])
		}
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		o.add(trace.TargetSecret, v.CSI.NodePublishSecretRef.Name)
	case v.AzureFile != nil:
		o.add(trace.TargetSecret, v.AzureFile.SecretName)
	case v.CephFS != nil && v.CephFS.SecretRef != nil:
		o.add(trace.TargetSecret, v.CephFS.SecretRef.Name)
	case v.RBD != nil && v.RBD.SecretRef != nil:
		o.add(trace.TargetSecret, v.RBD.SecretRef.Name)
	case v.ISCSI != nil && v.ISCSI.SecretRef != nil:
		o.add(trace.TargetSecret, v.ISCSI.SecretRef.Name)
	case v.FlexVolume != nil && v.FlexVolume.SecretRef != nil:
		o.add(trace.TargetSecret, v.FlexVolume.SecretRef.Name)
	}
}

func (o *objects) projection(spec *v1.PodSpec, p *v1.VolumeProjection) {
	switch {
	case p.Secret != nil:
		o.add(trace.TargetSecret, p.Secret.Name)
	case p.ConfigMap != nil:
		o.add(trace.TargetConfigMap, p.ConfigMap.Name)
	case p.ServiceAccountToken != nil:
		o.add(trace.TargetToken, spec.ServiceAccountName)
	}
}

func (o *objects) environment(from []v1.EnvFromSource, vars []v1.EnvVar) {
	for i := range from {
		switch {
		case from[i].SecretRef != nil:
			o.add(trace.TargetSecret, from[i].SecretRef.Name)
		case from[i].ConfigMapRef != nil:
			o.add(trace.TargetConfigMap, from[i].ConfigMapRef.Name)
		}
	}
	for i := range vars {
		switch of := vars[i].ValueFrom; {
		case of == nil:
		case of.SecretKeyRef != nil:
			o.add(trace.TargetSecret, of.SecretKeyRef.Name)
		case of.ConfigMapKeyRef != nil:
			o.add(trace.TargetConfigMap, of.ConfigMapKeyRef.Name)
		}
	}
}
