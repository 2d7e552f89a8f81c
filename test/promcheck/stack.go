package promcheck

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// build builds a kustomization and decodes what comes out: a field that Kubernetes' types do not have is an error.
func build(dir string) ([]runtime.Object, error) {
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	kinds := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(kinds), appsv1.AddToScheme(kinds), rbacv1.AddToScheme(kinds)); err != nil {
		return nil, err
	}
	strict := serializer.NewCodecFactory(kinds, serializer.EnableStrict).UniversalDeserializer()
	var out []runtime.Object
	for _, r := range m.Resources() {
		raw, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		o, _, err := strict.Decode(raw, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.CurId(), err)
		}
		out = append(out, o)
	}
	return out, nil
}

// checkPod returns what a pod may do that the example stack does not need, and what it lacks.
func checkPod(p *corev1.PodSpec) (wrong []string) {
	say := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	say(p.HostNetwork || p.HostPID || p.HostIPC, "a namespace of the host")
	s := p.SecurityContext
	say(s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot, "may run as root")
	say(s == nil || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, "no seccomp profile")
	say(p.AutomountServiceAccountToken == nil, "does not say whether it has a token")
	for _, v := range p.Volumes {
		say(v.HostPath != nil, "volume %s: a path of the host", v.Name)
		say(v.EmptyDir != nil && v.EmptyDir.SizeLimit == nil, "volume %s: no size limit", v.Name)
	}
	for _, c := range p.Containers {
		s := c.SecurityContext
		say(s == nil || s.Privileged != nil && *s.Privileged, "container %s: privileged", c.Name)
		say(s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation, "container %s: may gain privileges", c.Name)
		say(s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem, "container %s: may write to its image", c.Name)
		say(s == nil || s.Capabilities == nil || len(s.Capabilities.Add) > 0 || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL", "container %s: capabilities", c.Name)
		say(c.Resources.Limits.Memory().IsZero() || c.Resources.Limits.Cpu().IsZero(), "container %s: no limits", c.Name)
		say(!pinned.MatchString(c.Image), "container %s: the image %q has no version", c.Name, c.Image)
	}
	return wrong
}
