package admission

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
)

// declaring returns the features of a node that declares those.
func declaring(names ...string) *Features { return NewFeatures(names, version.MustParse("1.37.1")) }

// restartingAll is a container that restarts all when it exits.
func restartingAll(name string) v1.Container {
	return v1.Container{Name: name, RestartPolicyRules: []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}}
}

func TestFeatures(t *testing.T) {
	const restart, mounts, users = "RestartAllContainersOnContainerExits", "VolumeBindMountOptions", "UserNamespacesHostNetworkSupport"
	with := func(change func(*v1.PodSpec)) *v1.Pod {
		p := podWith("p")
		change(&p.Spec)
		return p
	}
	noexec := []v1.VolumeMount{{Name: "v", BindMountOptions: []string{"noexec"}}}
	mounting := with(func(s *v1.PodSpec) { s.Containers[0].VolumeMounts = noexec })
	restarts := with(func(s *v1.PodSpec) { s.InitContainers = []v1.Container{restartingAll("i")} })
	hostNetwork := with(func(s *v1.PodSpec) { s.HostNetwork, s.HostUsers = true, new(false) })
	both := with(func(s *v1.PodSpec) {
		s.Containers = append(s.Containers, restartingAll("d"))
		s.Containers[0].VolumeMounts = noexec
	})
	for _, c := range []struct {
		name     string
		in       Inputs
		lacks    string // features
		instead  string // another reason
		preempts int
	}{
		{name: "nothing needed", in: Inputs{Pod: podWith("p"), Features: declaring()}},
		{name: "mount options", in: Inputs{Pod: mounting, Features: declaring()}, lacks: mounts},
		{name: "mount options, declared", in: Inputs{Pod: mounting, Features: declaring(mounts)}},
		{name: "restart of all", in: Inputs{Pod: restarts, Features: declaring(mounts)}, lacks: restart},
		{name: "restart of all, declared", in: Inputs{Pod: restarts, Features: declaring(restart)}},
		{name: "user namespace on the host's network", in: Inputs{Pod: hostNetwork, Features: declaring(restart, mounts)}, lacks: users},
		{name: "user namespace on the host's network, declared", in: Inputs{Pod: hostNetwork, Features: declaring(users)}},
		{name: "two", in: Inputs{Pod: both, Features: declaring()}, lacks: restart + ", " + mounts},
		{name: "an ephemeral container's", in: Inputs{Pod: with(func(s *v1.PodSpec) {
			s.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{VolumeMounts: noexec}}}
		}), Features: declaring()}, lacks: mounts},
		{name: "nothing is known of features", in: Inputs{Pod: both}},
		{name: "after the general checks", in: Inputs{Pod: both, Features: declaring(), Others: []*v1.Pod{podWith("a")}, MaxPods: 1}, instead: "OutOfpods"},
		{name: "before a shutdown", in: Inputs{Pod: mounting, Features: declaring(), ShuttingDown: true}, lacks: mounts},
		{name: "a shutdown", in: Inputs{Pod: mounting, Features: declaring(mounts), ShuttingDown: true}, instead: "NodeShutdown"},
		{name: "nothing is preempted for it", in: Inputs{
			Pod: critical(with(func(s *v1.PodSpec) { s.Containers[0].VolumeMounts = noexec })), Features: declaring(), Others: []*v1.Pod{podWith("a")}, MaxPods: 1,
		}, lacks: mounts},
		{name: "a critical pod that has them preempts", in: Inputs{
			Pod: critical(podWith("p")), Features: declaring(), Others: []*v1.Pod{podWith("a")}, MaxPods: 1,
		}, preempts: 1},
	} {
		want := Verdict{OK: c.lacks == "" && c.instead == "", Reason: c.instead}
		if c.lacks != "" {
			want.Reason, want.Message = "PodFeatureUnsupported", "Pod requires node features that are not available: "+c.lacks
		}
		got := Check(c.in)
		if got.OK != want.OK || got.Reason != want.Reason || c.lacks != "" && got.Message != want.Message || len(got.Preempt) != c.preempts {
			t.Errorf("%s: %+v, want %+v, %d preempted", c.name, got, want, c.preempts)
		}
	}
}

// The change of a pod can need a feature, too. Whatever changes, nothing panics.
func TestUnmet(t *testing.T) {
	const level, volumes = "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingMemoryBackedVolumes"
	requests := func(cpu string) *v1.ResourceRequirements {
		return &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}
	}
	pod := func(cpu, size string, inits ...v1.Container) *v1.Pod {
		p := podWith("p")
		p.Spec.Resources, p.Spec.InitContainers = requests(cpu), inits
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{
			Medium: v1.StorageMediumMemory, SizeLimit: new(resource.MustParse(size)),
		}}}}
		return p
	}
	otherKind := pod("1", "1Mi")
	otherKind.Spec.Volumes[0].VolumeSource = v1.VolumeSource{}
	init := v1.Container{Name: "i"}
	for _, c := range []struct {
		name     string
		features *Features
		old, now *v1.Pod
		lacks    string
	}{
		{"nothing", declaring(), pod("1", "1Mi"), pod("1", "1Mi"), ""},
		{"the pod's resources", declaring(), pod("1", "1Mi"), pod("2", "1Mi"), level},
		{"the pod's resources, declared", declaring(level), pod("1", "1Mi"), pod("2", "1Mi"), ""},
		{"both", declaring(), pod("1", "1Mi"), pod("2", "2Mi"), level + ", " + volumes},
		{"nothing is known of features", nil, pod("1", "1Mi"), pod("2", "2Mi"), ""},
		{"an init container less", declaring(), pod("1", "1Mi", init), pod("2", "1Mi"), ""},
		{"another init container", declaring(), pod("1", "1Mi", init), pod("2", "1Mi", v1.Container{Name: "j"}), ""},
		{"an init container more", declaring(), pod("1", "1Mi"), pod("2", "1Mi", init), ""},
		{"a volume of another kind", declaring(), otherKind, pod("2", "1Mi"), ""},
	} {
		want := ""
		if c.lacks != "" {
			want = "Pod requires node features that are not available: " + c.lacks
		}
		if got := c.features.Unmet(c.old, c.now); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}
