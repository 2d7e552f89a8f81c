package podspec

import v1 "k8s.io/api/core/v1"

// Container returns the pod's container of that name, an init or an ephemeral one too; nil if there is none. It belongs to the pod.
func Container(p *v1.Pod, name string) *v1.Container {
	c, _ := find(p, name)
	return c
}

// FieldPath returns the field of a container in the pod's spec, such as spec.containers{web}; "" for the pod itself. Upstream:
// pkg/kubelet/container/ref.go, GenerateContainerRef.
func FieldPath(p *v1.Pod, name string) string {
	if name == "" {
		return ""
	}
	if c, list := find(p, name); c != nil {
		return "spec." + list + "{" + name + "}"
	}
	return "implicitly required container " + name
}

// IsEphemeral reports whether the pod's container of that name is an ephemeral one.
func IsEphemeral(p *v1.Pod, name string) bool {
	_, list := find(p, name)
	return list == "ephemeralContainers"
}

// find returns the container of that name, and the list of the spec in which it is.
func find(p *v1.Pod, name string) (c *v1.Container, list string) {
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; c.Name == name {
			return c, "containers"
		}
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.Name == name {
			return c, "initContainers"
		}
	}
	for i := range p.Spec.EphemeralContainers {
		if c := &p.Spec.EphemeralContainers[i].EphemeralContainerCommon; c.Name == name {
			return (*v1.Container)(c), "ephemeralContainers"
		}
	}
	return nil, ""
}
