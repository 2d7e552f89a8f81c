package podstatus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

func list(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}

// amounts returns resources as text, because quantities are hard to compare.
func amounts(r *v1.ResourceRequirements) string {
	if r == nil {
		return "none"
	}
	return r.Requests.Cpu().String() + " " + r.Requests.Memory().String() + " / " + r.Limits.Cpu().String() + " " + r.Limits.Memory().String()
}

func TestResources(t *testing.T) {
	pod := aPod(v1.RestartPolicyAlways, "a")
	pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: list("250m", "64Mi"), Limits: list("500m", "128Mi")}
	old := running("a")
	old.Resources = &podstate.Resources{CPUShares: 102, CPUQuota: 20_000, CPUPeriod: 100_000, Memory: 100 << 20}
	least := running("a")
	least.Resources = &podstate.Resources{CPUShares: 2, CPUQuota: 1000, CPUPeriod: 100_000, Memory: 128 << 20}
	was := func(string) (v1.ResourceRequirements, bool) {
		return v1.ResourceRequirements{Requests: list("100m", "50Mi"), Limits: list("200m", "100Mi")}, true
	}
	before := &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
		Name: "a", ContainerID: "containerd://id-a", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
		Resources: &v1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("2", "2Gi")},
	}}}
	for _, tc := range []struct {
		name string
		seen *podstate.Pod
		in   Inputs
		want string
		pod  string // its cgroup has what was given
	}{
		{"not running", seen(exited("a", 0)), Inputs{}, "250m 64Mi / 500m 128Mi", "250m 64Mi / 500m 128Mi"},
		{"running, nothing told", seen(running("a")), Inputs{}, "250m 64Mi / 500m 128Mi", "250m 64Mi / 500m 128Mi"},
		{"running, nothing told, said before", seen(running("a")), Inputs{Previous: before}, "1 1Gi / 2 2Gi", "250m 64Mi / 500m 128Mi"},
		{"as the kernel has it", seen(old), Inputs{}, "100m 64Mi / 200m 100Mi", "250m 64Mi / 500m 128Mi"},
		{"and as it was given", seen(old), Inputs{Actuated: was}, "100m 50Mi / 200m 100Mi", "100m 64Mi / 200m 100Mi"},
		{"only given", seen(running("a")), Inputs{Actuated: was}, "100m 50Mi / 200m 100Mi", "100m 64Mi / 200m 100Mi"},
		{"the least of a larger one", seen(least), Inputs{}, "2m 64Mi / 10m 128Mi", "250m 64Mi / 500m 128Mi"},
	} {
		tc.in.Runtime = "containerd"
		s := Generate(pod, tc.seen, tc.in)
		if got := amounts(s.ContainerStatuses[0].Resources); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if got := amounts(&v1.ResourceRequirements{Requests: s.AllocatedResources}); got != "250m 64Mi / 0 0" {
			t.Errorf("%s: allocated %s", tc.name, got)
		}
		if got := amounts(s.Resources); got != tc.pod {
			t.Errorf("%s: of the pod %s, want %s", tc.name, got, tc.pod)
		}
	}
}

func TestEphemeralAndMountsAndUser(t *testing.T) {
	pod := aPod(v1.RestartPolicyAlways, "a")
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{
		{Name: "v", MountPath: "/v"},
		{Name: "r", MountPath: "/r", ReadOnly: true},
		{Name: "rr", MountPath: "/rr", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyIfPossible)},
	}
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "dbg", Image: "img:1"}}}
	a := running("a")
	a.User = &podstate.User{UID: 1000, GID: 3000, SupplementalGroups: []int64{3000, 4000}}
	s := Generate(pod, seen(a, exited("dbg", 1)), Inputs{Runtime: "containerd", RecursiveReadOnly: true})
	disabled, enabled := new(v1.RecursiveReadOnlyDisabled), new(v1.RecursiveReadOnlyEnabled)
	want := []v1.VolumeMountStatus{
		{Name: "v", MountPath: "/v"},
		{Name: "r", MountPath: "/r", ReadOnly: true, RecursiveReadOnly: disabled},
		{Name: "rr", MountPath: "/rr", ReadOnly: true, RecursiveReadOnly: enabled},
	}
	if d := cmp.Diff(want, s.ContainerStatuses[0].VolumeMounts); d != "" {
		t.Error(d)
	}
	user := &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: 1000, GID: 3000, SupplementalGroups: []int64{3000, 4000}}}
	if d := cmp.Diff(user, s.ContainerStatuses[0].User); d != "" {
		t.Error(d)
	}
	dbg := s.EphemeralContainerStatuses
	if len(dbg) != 1 || dbg[0].State.Terminated == nil || dbg[0].State.Terminated.ExitCode != 1 || dbg[0].Ready || dbg[0].Started != nil {
		t.Errorf("ephemeral: %+v", dbg)
	}
	if s.Phase != v1.PodRunning {
		t.Errorf("phase %s: a debugger that ended is no matter", s.Phase)
	}
	if s = Generate(pod, seen(a), Inputs{}); s.EphemeralContainerStatuses[0].State.Waiting.Reason != ContainerCreating {
		t.Errorf("ephemeral before it is there: %+v", s.EphemeralContainerStatuses[0])
	}
}

// All containers restart: when due, after their removal, and after their new creation.
func TestAllContainersRestart(t *testing.T) {
	pod := withInit(aPod(v1.RestartPolicyNever, "a", "b"), "i")
	pod.Spec.Containers[0].RestartPolicy = new(v1.ContainerRestartPolicyNever)
	pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
	}}
	check := func(s v1.PodStatus, status v1.ConditionStatus, restarts ...int32) {
		t.Helper()
		if c := findCondition(s.Conditions, v1.AllContainersRestarting); c == nil || c.Status != status {
			t.Errorf("condition %+v, want %s", c, status)
		}
		if c := findCondition(s.Conditions, v1.PodInitialized); c.Status != v1.ConditionTrue {
			t.Errorf("not initialized any more: %+v", c)
		}
		for i, want := range restarts {
			if got := s.ContainerStatuses[i].RestartCount; got != want {
				t.Errorf("container %d has restarted %d times, want %d", i, got, want)
			}
		}
	}
	in := Inputs{Runtime: "containerd"}
	s := Generate(pod, seen(running("a"), running("b"), exited("i", 0)), in)
	check(s, v1.ConditionFalse, 0, 0)
	in.Previous = &s
	s = Generate(pod, seen(exited("a", 42), running("b"), exited("i", 0)), in)
	check(s, v1.ConditionTrue, 0, 0)
	if s.Phase != v1.PodRunning {
		t.Errorf("phase %s", s.Phase)
	}
	check(Generate(pod, seen(running("a"), running("b"), exited("i", 0)), in), v1.ConditionFalse) // after an agent that could not write the end of the restart
	s = Generate(pod, seen(), in)
	check(s, v1.ConditionFalse, 1, 1)
	if w := s.ContainerStatuses[1].State.Waiting; w == nil || w.Reason != RestartingAllContainers || s.Phase == v1.PodFailed {
		t.Errorf("phase %s, %+v", s.Phase, s.ContainerStatuses[1])
	}
	// As upstream, the ID of the container that exited stays, that of one that ran does not; both ended because of the restart.
	a, b := s.ContainerStatuses[0], s.ContainerStatuses[1]
	if a.ContainerID == "" || b.ContainerID != "" || b.ImageID != "" {
		t.Errorf("%+v, %+v", a, b)
	}
	for _, s := range []v1.ContainerStatus{a, b, s.InitContainerStatuses[0]} {
		if last := s.LastTerminationState.Terminated; last == nil || last.Reason != RestartingAllContainers || last.ExitCode != 137 || s.State.Terminated != nil {
			t.Errorf("%+v", s)
		}
	}
	next := running("b")
	next.ID = "id3"
	b = Generate(pod, seen(next), in).ContainerStatuses[1]
	if last := b.LastTerminationState.Terminated; last == nil || last.Reason != RestartingAllContainers || b.RestartCount != 1 {
		t.Errorf("the next one does not say how the one before ended: %+v", b)
	}
	fresh := running("i")
	fresh.ID, fresh.Attempt = "id2", 1
	s = Generate(pod, seen(fresh), in)
	check(s, v1.ConditionFalse, 1, 1)
	if s.InitContainerStatuses[0].RestartCount != 1 {
		t.Errorf("init container: %+v", s.InitContainerStatuses[0])
	}
}

// A container keeps what its status said of its mounts: an agent that has just started does not know yet what the handler of the pod supports.
func TestMountsAreKept(t *testing.T) {
	pod := aPod(v1.RestartPolicyAlways, "a")
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v"}, {Name: "r", MountPath: "/r", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyIfPossible)}}
	mode := func(supported bool, previous *v1.PodStatus, of *podstate.Pod) v1.RecursiveReadOnlyMode {
		return *Generate(pod, of, Inputs{Runtime: "containerd", Previous: previous, RecursiveReadOnly: supported}).ContainerStatuses[0].VolumeMounts[1].RecursiveReadOnly
	}
	a := running("a")
	previous := Generate(pod, seen(a), Inputs{Runtime: "containerd", RecursiveReadOnly: false})
	if got := mode(true, &previous, seen(a)); got != v1.RecursiveReadOnlyDisabled {
		t.Errorf("the same container: %s", got)
	}
	next := a
	next.ID += "2"
	if got := mode(true, &previous, seen(next)); got != v1.RecursiveReadOnlyEnabled {
		t.Errorf("another container: %s", got)
	}
	previous.ContainerStatuses[0].VolumeMounts = nil
	if got := mode(true, &previous, seen(a)); got != v1.RecursiveReadOnlyEnabled {
		t.Errorf("a status without mounts: %s", got)
	}
}
