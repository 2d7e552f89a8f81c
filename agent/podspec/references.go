package podspec

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// References reports every API object that the pod refers to. A static pod must refer to none, because it must start
// without an API server. Upstream: pkg/api/pod/util.go, HasAPIObjectReference.
func References(p *v1.Pod) field.ErrorList {
	var r references
	spec := field.NewPath("spec")
	r.add(p.Spec.ServiceAccountName != "", spec.Child("serviceAccountName"), "serviceaccounts")
	named := func(s v1.LocalObjectReference) bool { return s.Name != "" }
	r.add(slices.ContainsFunc(p.Spec.ImagePullSecrets, named), spec.Child("imagePullSecrets"), "secrets")
	r.add(len(p.Spec.ResourceClaims) > 0, spec.Child("resourceClaims"), "resourceclaims")
	for i := range p.Spec.InitContainers {
		r.container(&p.Spec.InitContainers[i], spec.Child("initContainers").Index(i))
	}
	for i := range p.Spec.Containers {
		r.container(&p.Spec.Containers[i], spec.Child("containers").Index(i))
	}
	for i := range p.Spec.Volumes {
		r.volume(&p.Spec.Volumes[i], spec.Child("volumes").Index(i))
	}
	return r.errs
}

type references struct{ errs field.ErrorList }

func (r *references) add(found bool, path *field.Path, what string) {
	if found {
		r.errs = append(r.errs, field.Forbidden(path, "static pods may not reference "+what))
	}
}

func (r *references) container(c *v1.Container, path *field.Path) {
	r.add(len(c.Resources.Claims) > 0, path.Child("resources", "claims"), "resourceclaims")
	for i, from := range c.EnvFrom {
		at := path.Child("envFrom").Index(i)
		r.add(from.ConfigMapRef != nil, at.Child("configMapRef"), "configmaps")
		r.add(from.SecretRef != nil, at.Child("secretRef"), "secrets")
	}
	for i, env := range c.Env {
		if env.ValueFrom == nil {
			continue
		}
		at := path.Child("env").Index(i).Child("valueFrom")
		r.add(env.ValueFrom.ConfigMapKeyRef != nil, at.Child("configMapKeyRef"), "configmaps")
		r.add(env.ValueFrom.SecretKeyRef != nil, at.Child("secretKeyRef"), "secrets")
	}
}

func (r *references) volume(v *v1.Volume, path *field.Path) {
	r.add(v.ConfigMap != nil, path.Child("configMap"), "configmaps (via configmap volumes)")
	r.add(v.Secret != nil, path.Child("secret"), "secrets (via secret volumes)")
	r.add(v.CSI != nil, path.Child("csi"), "csidrivers (via CSI volumes)")
	r.add(v.Glusterfs != nil, path.Child("glusterfs"), "endpoints (via glusterFS volumes)")
	r.add(v.PersistentVolumeClaim != nil, path.Child("persistentVolumeClaim"), "persistentvolumeclaims")
	r.add(v.Ephemeral != nil, path.Child("ephemeral"), "persistentvolumeclaims (via ephemeral volumes)")
	r.add(v.AzureFile != nil, path.Child("azureFile"), "secrets (via azureFile volumes)")
	r.add(namesSecret(v.VolumeSource), path, "secrets")
	if v.Projected == nil {
		return
	}
	for i, s := range v.Projected.Sources {
		at := path.Child("projected", "sources").Index(i)
		r.add(s.ConfigMap != nil, at.Child("configMap"), "configmaps (via projected volumes)")
		r.add(s.Secret != nil, at.Child("secret"), "secrets (via projected volumes)")
		r.add(s.ServiceAccountToken != nil, at.Child("serviceAccountToken"), "serviceaccounts (via projected volumes)")
		r.add(s.ClusterTrustBundle != nil, at.Child("clusterTrustBundle"), "clustertrustbundles")
		r.add(s.PodCertificate != nil, at.Child("podCertificate"), "podcertificates")
	}
}

// namesSecret reports whether the volume source, of any plugin, has a secretRef.
func namesSecret(source v1.VolumeSource) bool {
	v := reflect.ValueOf(source)
	for _, plugin := range v.Fields() {
		if plugin.Kind() != reflect.Pointer || plugin.IsNil() {
			continue
		}
		ref := plugin.Elem().FieldByName("SecretRef")
		if ref.IsValid() && ref.Kind() == reflect.Pointer && !ref.IsNil() {
			return true
		}
	}
	return false
}
