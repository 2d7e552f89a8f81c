package main

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// bound gives a pod to the node, as a scheduler would.
func bound(p *v1.Pod) *v1.Pod {
	p.UID = ""
	p.Spec.NodeName = lab.NodeName
	if p.Spec.AutomountServiceAccountToken == nil {
		p.Spec.AutomountServiceAccountToken = new(false)
	}
	p.Spec.EnableServiceLinks = new(false)
	return p
}

// stocked has a volume of each common kind. The floor has directories instead.
func stocked(l *lab.Lab) *v1.Pod {
	p := podOf(v1.Container{Image: l.Image(lab.ImageHTTP), VolumeMounts: []v1.VolumeMount{
		{Name: "e", MountPath: "/e"}, {Name: "c", MountPath: "/c"}, {Name: "s", MountPath: "/s"},
	}})
	p.Spec.AutomountServiceAccountToken = new(true)
	p.Spec.Volumes = []v1.Volume{
		{Name: "e", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "c", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: benchNamespace}}}},
		{Name: "s", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: benchNamespace}}},
	}
	return p
}

// withToken adds to the floor's twin of a stocked pod what the API adds to the other: the token's volume.
func withToken(p *v1.Pod) *v1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "t", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	c := &p.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: "t", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true})
	return p
}

// staged has two init containers, then three containers.
func staged(l *lab.Lab) *v1.Pod {
	p := plain(l)
	main := p.Spec.Containers[0]
	p.Spec.Containers = nil
	for _, name := range []string{"a", "b", "c"} {
		c := main
		c.Name = name
		if name != "a" { // one port, one listener
			c.Image, c.Command = l.Image(lab.ImageBusybox), []string{"sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"}
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	for _, name := range []string{"i", "j"} {
		c := main
		c.Name, c.Image, c.Command = name, l.Image(lab.ImageBusybox), []string{"true"}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	return p
}

// crasher ends once, three seconds after its start. Its grace period is short: it may be deleted before
// its shell listens.
func crasher(l *lab.Lab) *v1.Pod {
	p := podOf(v1.Container{
		Image: l.Image(lab.ImageBusybox), VolumeMounts: []v1.VolumeMount{{Name: "e", MountPath: "/e"}},
		Command: []string{"sh", "-c", "trap 'exit 0' TERM; test -e /e/x || { touch /e/x; sleep 3; exit 1; }; sleep 3600 & wait"},
	})
	p.Spec.TerminationGracePeriodSeconds = new(int64(1))
	p.Spec.Volumes = []v1.Volume{{Name: "e", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	return p
}
