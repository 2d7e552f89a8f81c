package objcache

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// kind is the kind of an object, as in error messages.
type kind string

const (
	configMap kind = "configmap"
	secret    kind = "secret"
)

// key identifies an object.
type key struct {
	kind      kind
	namespace string
	name      string
}

func (k key) String() string { return string(k.kind) + " " + k.namespace + "/" + k.name }

func (k key) target() trace.Target {
	kind := trace.TargetConfigMap
	if k.kind == secret {
		kind = trace.TargetSecret
	}
	return trace.Target{Kind: kind, Namespace: k.namespace, Name: k.name}
}

// refs are the objects that a pod refers to, each with the names of the pod's volumes that show it.
type refs map[key][]string

// refsOf returns the objects that a pod refers to.
//
// Upstream: pkg/api/v1/pod/util.go, VisitPodSecretNames, VisitPodConfigmapNames.
func refsOf(pod *v1.Pod) refs {
	out := refs{}
	add := func(k kind, name string, volumes ...string) {
		if name == "" {
			return
		}
		at := key{k, pod.Namespace, name}
		for _, v := range volumes {
			if slices.Contains(out[at], v) {
				return
			}
		}
		out[at] = append(out[at], volumes...)
	}
	for _, ref := range pod.Spec.ImagePullSecrets {
		add(secret, ref.Name)
	}
	for i := range pod.Spec.InitContainers {
		refsOfEnv(pod.Spec.InitContainers[i].EnvFrom, pod.Spec.InitContainers[i].Env, add)
	}
	for i := range pod.Spec.Containers {
		refsOfEnv(pod.Spec.Containers[i].EnvFrom, pod.Spec.Containers[i].Env, add)
	}
	for i := range pod.Spec.EphemeralContainers {
		refsOfEnv(pod.Spec.EphemeralContainers[i].EnvFrom, pod.Spec.EphemeralContainers[i].Env, add)
	}
	for i := range pod.Spec.Volumes {
		refsOfVolume(&pod.Spec.Volumes[i], add)
	}
	return out
}

func refsOfEnv(from []v1.EnvFromSource, env []v1.EnvVar, add func(kind, string, ...string)) {
	for _, f := range from {
		if f.ConfigMapRef != nil {
			add(configMap, f.ConfigMapRef.Name)
		}
		if f.SecretRef != nil {
			add(secret, f.SecretRef.Name)
		}
	}
	for _, e := range env {
		if e.ValueFrom == nil {
			continue
		}
		if e.ValueFrom.ConfigMapKeyRef != nil {
			add(configMap, e.ValueFrom.ConfigMapKeyRef.Name)
		}
		if e.ValueFrom.SecretKeyRef != nil {
			add(secret, e.ValueFrom.SecretKeyRef.Name)
		}
	}
}

func refsOfVolume(v *v1.Volume, add func(kind, string, ...string)) {
	switch {
	case v.ConfigMap != nil:
		add(configMap, v.ConfigMap.Name, v.Name)
	case v.Secret != nil:
		add(secret, v.Secret.SecretName, v.Name)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil {
				add(configMap, s.ConfigMap.Name, v.Name)
			}
			if s.Secret != nil {
				add(secret, s.Secret.Name, v.Name)
			}
		}
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		add(secret, v.CSI.NodePublishSecretRef.Name)
	}
}

// trustVolumes lists the pod's volumes that show trust bundles.
func trustVolumes(pod *v1.Pod) []string {
	var out []string
	for _, v := range pod.Spec.Volumes {
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s v1.VolumeProjection) bool { return s.ClusterTrustBundle != nil }) {
			out = append(out, v.Name)
		}
	}
	return out
}
