package cluster

import (
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestPods has pods of which the node must know what to do.
func TestPods(t *testing.T) {
	b := setup(t)
	b.node(t)
	for name, test := range map[string]func(*space){
		"sidecars":              testSidecars,
		"preStop":               testPreStop,
		"activeDeadlineSeconds": testDeadline,
		"readiness gates":       testGates,
		"no runtime class":      testNoClass,
		"images":                testImages,
		"no ConfigMap":          testNoConfigMap,
		"resize":                testResize,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(b.space(t))
		})
	}
}

func state(p *v1.Pod, name string) v1.ContainerState {
	for _, list := range [][]v1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range list {
			if c.Name == name {
				return c.State
			}
		}
	}
	return v1.ContainerState{}
}

// Sidecars start in order before the rest, and end in reverse order after it.
func testSidecars(s *space) {
	dir := s.t.TempDir()
	p := pod("p", "")
	p.Spec.TerminationGracePeriodSeconds = new(int64(20))
	p.Spec.Volumes = []v1.Volume{{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: dir}}}}
	one := func(name string) v1.Container {
		c := container(name, "trap 'echo end "+name+" >>/host/log; exit 0' TERM; echo start "+name+" >>/host/log; while :; do sleep 1 & wait $!; done")
		c.VolumeMounts = []v1.VolumeMount{{Name: "host", MountPath: "/host"}}
		return c
	}
	for _, name := range []string{"a", "b"} {
		c := one(name)
		c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	p.Spec.Containers = []v1.Container{one("main")}
	s.create(p)
	s.ready("p")
	eventually(s.t, "main to begin", func() string {
		said, err := os.ReadFile(dir + "/log")
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(string(said), "start main\n") {
			return string(said)
		}
		return ""
	})
	exec := s.kubectl("exec", "p", "-c", "a", "--", "true")
	s.delete(-1, "p")
	s.gone()
	want := "start a start b start main end main end b end a"
	got := strings.Join(strings.Fields(read(s.t, dir+"/log")), " ")
	if got != want || exec != "" {
		s.t.Errorf("%s, want %s", got, want)
	}
}

func testPreStop(s *space) {
	dir := s.t.TempDir()
	p := pod("p", "trap 'echo term >>/host/log; exit 0' TERM; while :; do sleep 1 & wait $!; done")
	p.Spec.TerminationGracePeriodSeconds = new(int64(20))
	p.Spec.Volumes = []v1.Volume{{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: dir}}}}
	c := &p.Spec.Containers[0]
	c.VolumeMounts = []v1.VolumeMount{{Name: "host", MountPath: "/host"}}
	c.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "sleep 1; echo hook >>/host/log"}}}}
	s.create(p)
	s.ready("p")
	s.delete(-1, "p")
	s.gone()
	if got := read(s.t, dir+"/log"); got != "hook\nterm\n" {
		s.t.Errorf("%q, want the hook before the signal", got)
	}
}

func testDeadline(s *space) {
	p := pod("p", forever)
	p.Spec.ActiveDeadlineSeconds = new(int64(3))
	s.create(p)
	failed := s.wait("p", "failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed && state(p, "main").Terminated != nil })
	if failed.Status.Reason != "DeadlineExceeded" {
		s.t.Error(short(failed))
	}
}

func testGates(s *space) {
	p := pod("p", forever)
	p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.org/go"}}
	s.create(p)
	got := s.wait("p", "ready containers", func(p *v1.Pod) bool { return condition(p, v1.ContainersReady) == v1.ConditionTrue })
	if isReady(got) {
		s.t.Errorf("ready with the gate closed: %s", short(got))
	}
	patch := func(status string) {
		data := `{"status":{"conditions":[{"type":"example.org/go","status":"` + status + `"}]}}`
		_, err := s.client.CoreV1().Pods(s.name).Patch(s.t.Context(), "p", types.StrategicMergePatchType, []byte(data), metav1.PatchOptions{}, "status")
		if err != nil {
			s.t.Fatal(err)
		}
	}
	patch("True")
	s.ready("p")
	patch("False")
	got = s.wait("p", "not ready", func(p *v1.Pod) bool { return !isReady(p) })
	for _, c := range got.Status.Conditions {
		if c.Type == v1.PodReady && c.Reason != "ReadinessGatesNotReady" {
			s.t.Errorf("reason %s", c.Reason)
		}
	}
}

func testNoClass(s *space) {
	p := pod("p", forever)
	p.Spec.RuntimeClassName = new("none")
	_, err := s.client.CoreV1().Pods(s.name).Create(s.t.Context(), p, metav1.CreateOptions{})
	if err != nil { // the API server's admission knows too
		if !strings.Contains(err.Error(), `"none" not found`) {
			s.t.Error(err)
		}
		return
	}
	if message := s.event("p", "FailedCreatePodSandBox"); !strings.Contains(message, `"none"`) {
		s.t.Error(message)
	}
}

func testImages(s *space) {
	for name, image := range map[string]string{
		"missing": "registry.k8s.io/e2e-test-images/none:1", "invalid": "Not:An:Image", "never": "registry.k8s.io/e2e-test-images/none:2",
	} {
		p := pod(name, forever)
		p.Spec.Containers[0].Image = image
		if name == "never" {
			p.Spec.Containers[0].ImagePullPolicy = v1.PullNever
		}
		s.create(p)
	}
	s.wait("missing", "ErrImagePull", waiting("ErrImagePull"))
	s.wait("missing", "ImagePullBackOff", waiting("ImagePullBackOff"))
	s.wait("invalid", "InvalidImageName", waiting("InvalidImageName"))
	s.wait("never", "ErrImageNeverPull", waiting("ErrImageNeverPull"))
	s.event("missing", "Failed")
	s.event("missing", "BackOff")
	s.event("invalid", "InspectFailed")
	s.event("never", "ErrImageNeverPull")
	// It heals when the image can be had.
	s.kubectl("set", "image", "pod/missing", "main="+busybox) // a patch: the agent writes the pod's status meanwhile
	s.ready("missing")
}

func testNoConfigMap(s *space) {
	env := pod("env", forever)
	env.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "later"}}}}
	volume := pod("volume", forever)
	volume.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "later"}}}}}
	volume.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v"}}
	s.create(env, volume)
	s.wait("env", "CreateContainerConfigError", waiting("CreateContainerConfigError"))
	if message := s.event("volume", "FailedMount"); !strings.Contains(message, `configmap "later" not found`) {
		s.t.Error(message)
	}
	began := time.Now()
	m := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Data: map[string]string{"k": "v"}}
	if _, err := s.client.CoreV1().ConfigMaps(s.name).Create(s.t.Context(), m, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.ready("env", "volume")
	s.t.Logf("healed after %s", time.Since(began).Round(time.Millisecond))
}

// testResize gives a running container more, without a restart.
func testResize(s *space) {
	p := pod("p", forever)
	p.Spec.Containers[0].Resources = resources("50m", "32Mi")
	s.create(p)
	s.ready("p")
	s.kubectl("patch", "pod", "p", "--subresource=resize", "--patch",
		`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"100m","memory":"64Mi"}}}]}}`)
	got := s.wait("p", "resized", func(p *v1.Pod) bool {
		r := p.Status.ContainerStatuses[0].Resources
		return r != nil && r.Limits.Memory().String() == "64Mi" && r.Limits.Cpu().String() == "100m"
	})
	if got.Status.ContainerStatuses[0].RestartCount != 0 {
		s.t.Error(short(got))
	}
	if out := s.kubectl("exec", "p", "--", "cat", "/sys/fs/cgroup/memory/memory.limit_in_bytes"); out != "67108864" {
		s.t.Errorf("the cgroup's limit is %s", out)
	}
}
