package podspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestSetDefaults(t *testing.T) {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1.PodSpec{
			HostNetwork: true,
			Volumes: []v1.Volume{
				{Name: "empty"},
				{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}},
				{Name: "down", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{
					Items: []v1.DownwardAPIVolumeFile{{Path: "n", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
				}}},
			},
			Containers: []v1.Container{{
				Name: "c", Image: "busybox",
				Ports:         []v1.ContainerPort{{ContainerPort: 80}},
				LivenessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}},
				Resources: v1.ResourceRequirements{
					Limits:   v1.ResourceList{v1.ResourceCPU: resource.MustParse("1.0005"), v1.ResourceMemory: resource.MustParse("64Mi")},
					Requests: v1.ResourceList{v1.ResourceMemory: resource.MustParse("32Mi")},
				},
			}},
		},
	}
	SetDefaults(p)
	want := v1.PodSpec{
		HostNetwork:                   true,
		RestartPolicy:                 v1.RestartPolicyAlways,
		DNSPolicy:                     v1.DNSClusterFirst,
		SchedulerName:                 "default-scheduler",
		SecurityContext:               &v1.PodSecurityContext{},
		EnableServiceLinks:            new(true),
		TerminationGracePeriodSeconds: new(int64(30)),
		Volumes: []v1.Volume{
			{Name: "empty", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x", Type: new(v1.HostPathUnset)}}},
			{Name: "down", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{
				DefaultMode: new(int32(0o644)),
				Items: []v1.DownwardAPIVolumeFile{{
					Path: "n", FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
				}},
			}}},
		},
		Containers: []v1.Container{{
			Name: "c", Image: "busybox",
			ImagePullPolicy:          v1.PullAlways,
			TerminationMessagePath:   "/dev/termination-log",
			TerminationMessagePolicy: v1.TerminationMessageReadFile,
			Ports:                    []v1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolTCP}},
			LivenessProbe: &v1.Probe{
				ProbeHandler:   v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80), Path: "/", Scheme: v1.URISchemeHTTP}},
				TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
			},
			Resources: v1.ResourceRequirements{
				Limits:   v1.ResourceList{v1.ResourceCPU: resource.MustParse("1001m"), v1.ResourceMemory: resource.MustParse("64Mi")},
				Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1001m"), v1.ResourceMemory: resource.MustParse("32Mi")},
			},
		}},
	}
	if d := cmp.Diff(want, p.Spec); d != "" {
		t.Errorf("spec (-want +got):\n%s", d)
	}
	again := p.DeepCopy()
	SetDefaults(again)
	if d := cmp.Diff(p, again); d != "" {
		t.Errorf("a second call changed the pod:\n%s", d)
	}
}

func TestPullPolicy(t *testing.T) {
	digest := "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	cases := map[string]v1.PullPolicy{
		"busybox":                           v1.PullAlways,
		"busybox:latest":                    v1.PullAlways,
		"busybox:1.36":                      v1.PullIfNotPresent,
		"localhost:5000/busybox":            v1.PullAlways,
		"localhost:5000/busybox:1":          v1.PullIfNotPresent,
		"busybox" + digest:                  v1.PullIfNotPresent,
		"busybox:latest" + digest:           v1.PullAlways,
		"Not An Image":                      v1.PullIfNotPresent,
		"registry.k8s.io/pause:3.10.latest": v1.PullIfNotPresent,
	}
	for image, want := range cases {
		if got := pullPolicy(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestPodLevelRequests(t *testing.T) {
	p := manifest()
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
	p.Spec.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi"),
	}}
	SetDefaults(p)
	want := v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m"), v1.ResourceMemory: resource.MustParse("1Gi")}
	if d := cmp.Diff(want, p.Spec.Resources.Requests); d != "" {
		t.Error(d)
	}
}

// All quantities of the spec are rounded up to milli-units, as the API server does.
func TestOverheadIsRounded(t *testing.T) {
	p := &v1.Pod{Spec: v1.PodSpec{Overhead: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500u")}}}
	SetDefaults(p)
	if cpu := p.Spec.Overhead[v1.ResourceCPU]; cpu.Cmp(resource.MustParse("1m")) != 0 {
		t.Errorf("overhead %s, want 1m", cpu.String())
	}
}
