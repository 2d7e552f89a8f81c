package podspec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fileKeyRef gives the pod a variable from a file, an emptyDir volume v, and a hostPath volume.
func fileKeyRef(r v1.FileKeySelector) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{
			{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}},
		}
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{FileKeyRef: &r}}}
	}
}

// podResources gives the pod pod-level resources, and its container a CPU request of 100m and a limit of 200m.
func podResources(limits, requests v1.ResourceList) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{
			Limits: v1.ResourceList{"cpu": resource.MustParse("200m")}, Requests: v1.ResourceList{"cpu": resource.MustParse("100m")},
		}
		p.Spec.Resources = &v1.ResourceRequirements{Limits: limits, Requests: requests}
	}
}

func TestValidate(t *testing.T) {
	main := func(p *v1.Pod) *v1.Container { return &p.Spec.Containers[0] }
	cases := []struct {
		name   string
		change func(*v1.Pod)
		want   string // beginning of the only error; "" for none
	}{
		{"good", func(*v1.Pod) {}, ""},
		{"name", func(p *v1.Pod) { p.Name = "Web_1" }, "metadata.name: Invalid value"},
		{"namespace", func(p *v1.Pod) { p.Namespace = "a.b" }, "metadata.namespace: Invalid value"},
		{"no containers", func(p *v1.Pod) { p.Spec.Containers = nil }, "spec.containers: Required value"},
		{"container name", func(p *v1.Pod) { main(p).Name = "A" }, "spec.containers[0].name: Invalid value"},
		{"no image", func(p *v1.Pod) { main(p).Image = "" }, "spec.containers[0].image: Required value"},
		{"same name twice", func(p *v1.Pod) { p.Spec.Containers = append(p.Spec.Containers, *main(p)) }, `spec.containers[1].name: Duplicate value: "c"`},
		{"init has app's name", func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{*main(p)} }, `spec.initContainers[0].name: Duplicate value: "c"`},
		{"restartPolicy", func(p *v1.Pod) { p.Spec.RestartPolicy = "Sometimes" }, `spec.restartPolicy: Unsupported value: "Sometimes"`},
		{"dnsPolicy", func(p *v1.Pod) { p.Spec.DNSPolicy = "Cluster" }, `spec.dnsPolicy: Unsupported value`},
		{"dns none", func(p *v1.Pod) { p.Spec.DNSPolicy = v1.DNSNone }, `spec.dnsConfig.nameservers: Required value`},
		{"unknown volume", func(p *v1.Pod) { main(p).VolumeMounts = []v1.VolumeMount{{Name: "x", MountPath: "/x"}} }, `spec.containers[0].volumeMounts[0].name: Not found: "x"`},
		{"mountPath twice", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v"}}
			main(p).VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/x"}, {Name: "v", MountPath: "/x"}}
		}, `spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique`},
		{"mount options", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			main(p).VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/x", BindMountOptions: []string{"noexec", "nodev", "nosuid"}}}
		}, ""},
		{"mount option unknown", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			main(p).VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/x", BindMountOptions: []string{"ro"}}}
		}, `spec.containers[0].volumeMounts[0].bindMountOptions[0]: Unsupported value: "ro"`},
		{"mount option twice", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			main(p).VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/x", BindMountOptions: []string{"noexec", "noexec"}}}
		}, `spec.containers[0].volumeMounts[0].bindMountOptions[1]: Duplicate value: "noexec"`},
		{"mount options of an image", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "data:1", PullPolicy: v1.PullIfNotPresent}}}}
			main(p).VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/x", BindMountOptions: []string{"noexec"}}}
		}, `spec.containers[0].volumeMounts[0].bindMountOptions: Invalid value: ["noexec"]: bindMountOptions may not be used with image volumes`},
		{"image with a space", func(p *v1.Pod) { main(p).Image = "x:1 " }, `spec.containers[0].image: Invalid value: "x:1 "`},
		{"envFrom without a source", func(p *v1.Pod) { main(p).EnvFrom = []v1.EnvFromSource{{Prefix: "A_"}} }, "spec.containers[0].envFrom[0]: Required value"},
		{"file of a volume", fileKeyRef(v1.FileKeySelector{VolumeName: "v", Path: "a/b", Key: "A"}), ""},
		{"file of no volume", fileKeyRef(v1.FileKeySelector{VolumeName: "w", Path: "a", Key: "A"}), `spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "w"`},
		{"file of a hostPath volume", fileKeyRef(v1.FileKeySelector{VolumeName: "host", Path: "a", Key: "A"}), `spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "host": must be an emptyDir volume`},
		{"file outside of its volume", fileKeyRef(v1.FileKeySelector{VolumeName: "v", Path: "../a", Key: "A"}), `spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: "../a"`},
		{"file without a key", fileKeyRef(v1.FileKeySelector{VolumeName: "v", Path: "a"}), "spec.containers[0].env[0].valueFrom.fileKeyRef.key: Required value"},
		{"recursively read-only and propagated", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			main(p).VolumeMounts = []v1.VolumeMount{{
				Name: "v", MountPath: "/x", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyEnabled), MountPropagation: new(v1.MountPropagationHostToContainer),
			}}
		}, "spec.containers[0].volumeMounts[0].recursiveReadOnly: Forbidden: needs mountPropagation: None"},
		{"procMount of the node's users", func(p *v1.Pod) { main(p).SecurityContext = &v1.SecurityContext{ProcMount: new(v1.UnmaskedProcMount)} }, `spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": needs hostUsers: false`},
		{"procMount of own users", func(p *v1.Pod) {
			p.Spec.HostUsers, main(p).SecurityContext = new(false), &v1.SecurityContext{ProcMount: new(v1.UnmaskedProcMount)}
		}, ""},
		{"AppArmor", func(p *v1.Pod) {
			main(p).SecurityContext = &v1.SecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("p")}}
		}, ""},
		{"AppArmor profile without a name", func(p *v1.Pod) {
			main(p).SecurityContext = &v1.SecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost}}
		}, "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Required value"},
		{"AppArmor profile of the pod", func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: "Default"}}
		}, `spec.securityContext.appArmorProfile.type: Unsupported value: "Default"`},
		{"groups policy", func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicy("Only"))}
		}, `spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Only"`},
		{"sysctl twice", func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "net.a"}, {Name: "net.a"}}}
		}, `spec.securityContext.sysctls[1].name: Duplicate value: "net.a"`},
		{"sysctl of the node", func(p *v1.Pod) {
			p.Spec.HostNetwork, p.Spec.SecurityContext = true, &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "net.a"}}}
		}, `spec.securityContext.sysctls[0].name: Invalid value: "net.a": belongs to the node's namespace`},
		{"hostnameOverride", func(p *v1.Pod) { p.Spec.HostnameOverride = new("a.b") }, ""},
		{"hostnameOverride invalid", func(p *v1.Pod) { p.Spec.HostnameOverride = new("A") }, `spec.hostnameOverride: Invalid value: "A"`},
		{"hostnameOverride too long", func(p *v1.Pod) { p.Spec.HostnameOverride = new(strings.Repeat("a", 63) + ".b") }, "spec.hostnameOverride: Too long"},
		{"hostnameOverride of the node", func(p *v1.Pod) { p.Spec.HostNetwork, p.Spec.HostnameOverride = true, new("a") }, "spec.hostnameOverride: Forbidden"},
		{"huge pages alone", func(p *v1.Pod) {
			main(p).Resources.Limits = v1.ResourceList{"hugepages-2Mi": resource.MustParse("4Mi")}
		}, "spec.containers[0].resources: Forbidden: huge pages need cpu or memory"},
		{"pod-level storage", podResources(v1.ResourceList{"ephemeral-storage": resource.MustParse("1Gi")}, nil), `spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage"`},
		{"pod-level requests too small", podResources(nil, v1.ResourceList{"cpu": resource.MustParse("1m")}), `spec.resources.requests[cpu]: Invalid value: "1m": must be at least the sum of the containers' requests, 100m`},
		{"pod-level limits too small", podResources(v1.ResourceList{"cpu": resource.MustParse("150m")}, nil), `spec.containers[0].resources.limits[cpu]: Invalid value: "200m": must be at most the pod's limit of 150m`},
		{"pod-level resources", podResources(v1.ResourceList{"cpu": resource.MustParse("1")}, v1.ResourceList{"cpu": resource.MustParse("100m")}), ""},
		{"resizePolicy", func(p *v1.Pod) {
			main(p).ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: v1.NotRequired}, {ResourceName: "cpu", RestartPolicy: v1.NotRequired}}
		}, `spec.containers[0].resizePolicy[1].resourceName: Duplicate value: "cpu"`},
		{"toleration's value", func(p *v1.Pod) {
			p.Spec.Tolerations = []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists, Value: "b"}}
		}, `spec.tolerations[0].value: Invalid value: "b"`},
		{"toleration's time", func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Key: "a", TolerationSeconds: new(int64(5))}} }, `spec.tolerations[0].effect: Invalid value: ""`},
		{"nfs", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "s", Path: "p"}}}}
		}, `spec.volumes[0].nfs.path: Invalid value: "p"`},
		{"user namespace", func(p *v1.Pod) { p.Spec.HostUsers = new(false) }, ""},
		{"host's users", func(p *v1.Pod) { p.Spec.HostUsers, p.Spec.HostPID, p.Spec.HostIPC = new(true), true, true }, ""},
		{"user namespace, host's processes", func(p *v1.Pod) { p.Spec.HostUsers, p.Spec.HostPID = new(false), true }, "spec.hostPID: Forbidden: when `hostUsers` is false"},
		{"user namespace, host's IPC", func(p *v1.Pod) { p.Spec.HostUsers, p.Spec.HostIPC = new(false), true }, "spec.hostIPC: Forbidden: when `hostUsers` is false"},
		{"user namespace, devices", func(p *v1.Pod) {
			p.Spec.HostUsers, p.Spec.InitContainers = new(false), []v1.Container{*main(p)}
			p.Spec.InitContainers[0].Name, p.Spec.InitContainers[0].VolumeDevices = "i", []v1.VolumeDevice{{Name: "v", DevicePath: "/dev/x"}}
		}, "spec.initContainers[0].volumeDevices: Forbidden: when `hostUsers` is false"},
		{"subPath leaves", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v"}}
			main(p).VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/x", SubPath: "a/../../b"}}
		}, `spec.containers[0].volumeMounts[0].subPath: Invalid value`},
		{"volume twice", func(p *v1.Pod) { p.Spec.Volumes = []v1.Volume{{Name: "v"}, {Name: "v"}} }, `spec.volumes[1].name: Duplicate value: "v"`},
		{"two sources", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{
				EmptyDir: &v1.EmptyDirVolumeSource{}, HostPath: &v1.HostPathVolumeSource{Path: "/x"},
			}}}
		}, `spec.volumes[0]: Forbidden: may not have more than one volume type`},
		{"hostPath ..", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x/../y"}}}}
		}, `spec.volumes[0].hostPath.path: Invalid value: "/x/../y": must not contain '..'`},
		{"hostPath type", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x", Type: new(v1.HostPathType("Dir"))}}}}
		}, `spec.volumes[0].hostPath.type: Unsupported value: "Dir"`},
		{"emptyDir size", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("-1"))}}}}
		}, `spec.volumes[0].emptyDir.sizeLimit: Invalid value`},
		{"downward field", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{
				Items: []v1.DownwardAPIVolumeFile{{Path: "a", FieldRef: &v1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
			}}}}
		}, `spec.volumes[0].downwardAPI.items[0].fieldRef.fieldPath: Unsupported value: "spec.nodeName"`},
		{"port", func(p *v1.Pod) { main(p).Ports = []v1.ContainerPort{{ContainerPort: 70000}} }, `spec.containers[0].ports[0].containerPort: Invalid value: 70000`},
		{"no port", func(p *v1.Pod) { main(p).Ports = []v1.ContainerPort{{Name: "http"}} }, `spec.containers[0].ports[0].containerPort: Required value`},
		{"host port twice", func(p *v1.Pod) {
			main(p).Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}, {ContainerPort: 81, HostPort: 80}}
		}, `spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//80"`},
		{"port name twice", func(p *v1.Pod) {
			main(p).Ports = []v1.ContainerPort{{Name: "http", ContainerPort: 80}, {Name: "http", ContainerPort: 81}}
		}, `spec.containers[0].ports[1].name: Duplicate value: "http"`},
		{"requests over limits", func(p *v1.Pod) {
			main(p).Resources = v1.ResourceRequirements{
				Limits:   v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
				Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")},
			}
		}, `spec.containers[0].resources.requests[cpu]: Invalid value: "2": must be less than or equal to the limit of 1`},
		{"unknown resource", func(p *v1.Pod) {
			main(p).Resources.Limits = v1.ResourceList{"gpu": resource.MustParse("1")}
			main(p).Resources.Requests = v1.ResourceList{}
		}, `spec.containers[0].resources.limits[gpu]: Unsupported value: "gpu"`},
		{"env name", func(p *v1.Pod) { main(p).Env = []v1.EnvVar{{Name: "a=b"}} }, `spec.containers[0].env[0].name: Invalid value`},
		{"env value and source", func(p *v1.Pod) {
			main(p).Env = []v1.EnvVar{{Name: "A", Value: "x", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
		}, `spec.containers[0].env[0].valueFrom: Invalid value: "": may not be set together with value`},
		{"env label", func(p *v1.Pod) {
			main(p).Env = []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.labels['app']"}}}}
		}, ""},
		{"divisor", func(p *v1.Pod) {
			main(p).Env = []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{Resource: "limits.cpu", Divisor: resource.MustParse("1Mi")}}}}
		}, `spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "1Mi": must be 1 or 1m`},
		{"probe without handler", func(p *v1.Pod) { main(p).LivenessProbe = &v1.Probe{} }, `spec.containers[0].livenessProbe: Required value: one of exec`},
		{"probe port", func(p *v1.Pod) {
			main(p).ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(0)}}}
		}, `spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: 0`},
		{"probe of an init container", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "x:1", LivenessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"x"}}}}}}
		}, `spec.initContainers[0].livenessProbe: Forbidden`},
		{"runAsUser", func(p *v1.Pod) { main(p).SecurityContext = &v1.SecurityContext{RunAsUser: new(int64(-1))} }, `spec.containers[0].securityContext.runAsUser: Invalid value: -1`},
		{"seccomp", func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost}}
		}, `spec.securityContext.seccompProfile.localhostProfile: Required value`},
		{"host alias", func(p *v1.Pod) { p.Spec.HostAliases = []v1.HostAlias{{IP: "1.2.3"}} }, `spec.hostAliases[0].ip: Invalid value: "1.2.3"`},
		{"ephemeral containers", func(p *v1.Pod) { p.Spec.EphemeralContainers = make([]v1.EphemeralContainer, 1) }, `spec.ephemeralContainers: Forbidden`},
		{"toleration", func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Key: "k", Effect: "Sometimes"}} }, `spec.tolerations[0].effect: Unsupported value: "Sometimes"`},
		{"sleep longer than the grace period", func(p *v1.Pod) {
			main(p).Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 31}}}
		}, `spec.containers[0].lifecycle.preStop.sleep.seconds: Invalid value: 31`},
		{"stop signal without an OS", func(p *v1.Pod) { main(p).Lifecycle = &v1.Lifecycle{StopSignal: new(v1.SIGUSR1)} }, `spec.containers[0].lifecycle.stopSignal: Forbidden: needs spec.os.name`},
		{"stop signal", func(p *v1.Pod) {
			p.Spec.OS = &v1.PodOS{Name: v1.Linux}
			main(p).Lifecycle = &v1.Lifecycle{StopSignal: new(v1.Signal("RUNTIME_DEFAULT"))}
		}, `spec.containers[0].lifecycle.stopSignal: Invalid value: "RUNTIME_DEFAULT"`},
		{"stop signal of a sidecar", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "x:1", RestartPolicy: new(v1.ContainerRestartPolicyAlways), Lifecycle: &v1.Lifecycle{StopSignal: new(v1.SIGUSR1)}}}
		}, `spec.initContainers[0].lifecycle.stopSignal: Forbidden`},
		{"owner of a file", func(p *v1.Pod) {
			file := v1.DownwardAPIVolumeFile{Path: "a", User: new(int64(-1)), FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: []v1.DownwardAPIVolumeFile{file}}}}}
		}, `spec.volumes[0].downwardAPI.items[0].user: Invalid value: -1`},
		{"owner of files", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{DefaultUser: new(int64(1 << 31))}}}}
		}, `spec.volumes[0].projected.defaultUser: Invalid value: 2147483648`},
		{"mode of an emptyDir", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Mode: new(int32(0o2777))}}}}
		}, `spec.volumes[0].emptyDir.mode: Invalid value: 1535: must be a number between 0 and 01777`},
		{"sysctl", func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "Net"}}}
		}, `spec.securityContext.sysctls[0].name: Invalid value: "Net"`},
		{"huge pages", func(p *v1.Pod) {
			main(p).Resources.Limits = v1.ResourceList{"cpu": resource.MustParse("1"), "hugepages-2Mi": resource.MustParse("3Mi")}
		}, `spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi"`},
		{"projected nothing", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: make([]v1.VolumeProjection, 1)}}}}
		}, `spec.volumes[0].projected.sources[0]: Required value`},
		{"labels", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b c"} }, `metadata.labels: Invalid value: "b c"`},
		{"propagation", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v"}}
			main(p).VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/x", MountPropagation: new(v1.MountPropagationBidirectional)}}
		}, `spec.containers[0].volumeMounts[0].mountPropagation: Forbidden`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := manifest()
			c.change(p)
			static(t, p, "/m/web.yaml", "n")
			errs := Validate(p)
			if c.want == "" {
				if len(errs) > 0 {
					t.Errorf("Validate = %v", errs)
				}
				return
			}
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), c.want) {
				t.Errorf("Validate = %v\nwant %s...", errs, c.want)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	secret := &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "s"}}
	p := manifest()
	p.Spec.ServiceAccountName = "me"
	p.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "s"}}
	p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	p.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{}}}
	p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", Value: "ok"}, {Name: "B", ValueFrom: &v1.EnvVarSource{SecretKeyRef: secret}}}
	p.Spec.Volumes = []v1.Volume{
		{Name: "ok", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/"}}},
		{Name: "cm", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}},
		{Name: "pvc", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}},
		{Name: "rbd", VolumeSource: v1.VolumeSource{RBD: &v1.RBDVolumeSource{SecretRef: &v1.LocalObjectReference{}}}},
		{Name: "projected", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{DownwardAPI: &v1.DownwardAPIProjection{}}, {ServiceAccountToken: &v1.ServiceAccountTokenProjection{}},
		}}}},
	}
	var got []string
	for _, err := range References(p) {
		got = append(got, err.Error())
	}
	want := []string{
		"spec.serviceAccountName: Forbidden: static pods may not reference serviceaccounts",
		"spec.imagePullSecrets: Forbidden: static pods may not reference secrets",
		"spec.containers[0].resources.claims: Forbidden: static pods may not reference resourceclaims",
		"spec.containers[0].envFrom[0].configMapRef: Forbidden: static pods may not reference configmaps",
		"spec.containers[0].env[1].valueFrom.secretKeyRef: Forbidden: static pods may not reference secrets",
		"spec.volumes[1].configMap: Forbidden: static pods may not reference configmaps (via configmap volumes)",
		"spec.volumes[2].persistentVolumeClaim: Forbidden: static pods may not reference persistentvolumeclaims",
		"spec.volumes[3]: Forbidden: static pods may not reference secrets",
		"spec.volumes[4].projected.sources[1].serviceAccountToken: Forbidden: static pods may not reference serviceaccounts (via projected volumes)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if errs := References(manifest()); len(errs) > 0 {
		t.Errorf("a plain pod refers to %v", errs)
	}
}
