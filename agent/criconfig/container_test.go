package criconfig_test

import (
	"cmp"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

func TestContainer(t *testing.T) {
	pod := examplePod()
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = []v1.VolumeMount{
		{Name: "data", MountPath: "/data", MountPropagation: new(v1.MountPropagationBidirectional)},
		{Name: "data", MountPath: "logs", SubPathExpr: "$(MODE)/logs"},
		{Name: "cfg", MountPath: "/cfg", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyIfPossible), BindMountOptions: []string{"noexec", "nodev"}},
		{Name: "img", MountPath: "/img", SubPath: "bin"},
	}
	c.VolumeDevices = []v1.VolumeDevice{{Name: "disk", DevicePath: "/dev/xvda"}}
	node := criconfig.Node{
		MemoryCapacity: 1 << 30, CFSQuota: true, SELinux: true, RecursiveReadOnly: true, Swap: criconfig.Swap{Accounting: true},
		HugePageSizes: []string{"2MB"}, MaskedPaths: []string{"/sys/devices/system/cpu/cpu0/thermal_throttle"},
	}
	image := &runtimeapi.ImageSpec{Image: "sha256:vol"}
	got, err := criconfig.Container(pod, c, node, criconfig.ContainerInput{
		ImageRef: "sha256:abc", RestartCount: 1,
		Env: []criconfig.Var{{Name: "MODE", Value: "fast"}, {Name: "TARGET", Value: "db"}},
		Volumes: map[string]criconfig.Volume{
			"data": {HostPath: "/v/data", SELinuxRelabel: true}, "cfg": {HostPath: "/v/cfg", ReadOnly: true}, "img": {Image: image},
		},
		SubPaths:     map[int]string{1: "/v/sub/1"},
		HostsFile:    "/pods/uid-1/etc-hosts",
		BlockVolumes: map[string]string{"disk": "/dev/sdb"}, TerminationLog: "/pods/uid-1/containers/app/0f",
		ExtraMounts: []*runtimeapi.Mount{{ContainerPath: "/plugin", HostPath: "/plugin"}},
		Annotations: map[string]string{"plugin": "1", "io.kubernetes.container.hash": "overridden"},
	})
	if err != nil {
		t.Fatal(err)
	}
	diffProto(t, "container", &runtimeapi.ContainerConfig{
		Metadata:   &runtimeapi.ContainerMetadata{Name: "app", Attempt: 1},
		Image:      &runtimeapi.ImageSpec{Image: "sha256:abc", UserSpecifiedImage: "nginx:1.27"},
		Command:    []string{"/bin/run", "fast"},
		Args:       []string{"--to=db", "$(MODE)", "$(UNKNOWN)"},
		WorkingDir: "/srv",
		Envs:       []*runtimeapi.KeyValue{{Key: "MODE", Value: []byte("fast")}, {Key: "TARGET", Value: []byte("db")}},
		LogPath:    "app/1.log",
		Labels: map[string]string{
			"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.uid": "uid-1",
			"io.kubernetes.container.name": "app",
		},
		Annotations: map[string]string{
			"plugin": "1", "io.kubernetes.container.hash": "a763184", "io.kubernetes.container.restartCount": "1",
			"io.kubernetes.container.terminationMessagePath":   "/dev/termination-log",
			"io.kubernetes.container.terminationMessagePolicy": "File",
			"io.kubernetes.pod.terminationGracePeriod":         "30",
			"io.kubernetes.container.ports":                    `[{"name":"http","hostPort":8080,"containerPort":80,"protocol":"TCP"}]`,
		},
		Mounts: []*runtimeapi.Mount{
			{ContainerPath: "/plugin", HostPath: "/plugin"},
			{ContainerPath: "/data", HostPath: "/v/data", SelinuxRelabel: true, Propagation: runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL},
			{ContainerPath: "/logs", HostPath: "/v/sub/1", SelinuxRelabel: true},
			{ContainerPath: "/cfg", HostPath: "/v/cfg", Readonly: true, RecursiveReadOnly: true, MountOptions: []string{"noexec", "nodev"}},
			{ContainerPath: "/img", Image: image, ImageSubPath: "bin"},
			{ContainerPath: "/etc/hosts", HostPath: "/pods/uid-1/etc-hosts", SelinuxRelabel: true},
			{ContainerPath: "/dev/termination-log", HostPath: "/pods/uid-1/containers/app/0f", SelinuxRelabel: true},
		},
		Devices: []*runtimeapi.Device{{ContainerPath: "/dev/xvda", HostPath: "/dev/sdb", Permissions: "mrw"}},
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources: &runtimeapi.LinuxContainerResources{
				CpuShares: 102, CpuPeriod: 100000, CpuQuota: 50000, MemoryLimitInBytes: 128 << 20, MemorySwapLimitInBytes: 128 << 20,
				OomScoreAdj: 938, HugepageLimits: []*runtimeapi.HugepageLimit{{PageSize: "2MB"}},
			},
			SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
				NamespaceOptions: &runtimeapi.NamespaceOption{
					Pid:           runtimeapi.NamespaceMode_CONTAINER,
					UsernsOptions: &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE},
				},
				RunAsUser: &runtimeapi.Int64Value{},
				Seccomp:   &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined},
				MaskedPaths: []string{
					"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
					"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
					"/sys/devices/system/cpu/cpu0/thermal_throttle",
				},
				ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
			},
		},
	}, got)
}

func TestContainerSecurity(t *testing.T) {
	type result = runtimeapi.LinuxContainerSecurityContext
	profile := func(kind runtimeapi.SecurityProfile_ProfileType, ref string) *runtimeapi.SecurityProfile {
		return &runtimeapi.SecurityProfile{ProfileType: kind, LocalhostRef: ref}
	}
	for _, tc := range []struct {
		name    string
		pod     v1.PodSecurityContext
		own     v1.SecurityContext
		image   criconfig.ImageUser
		ann     map[string]string
		check   func(*result) bool
		failsAt string
	}{
		{
			name: "own user wins", pod: v1.PodSecurityContext{RunAsUser: new(int64(1)), RunAsGroup: new(int64(2))}, own: v1.SecurityContext{RunAsUser: new(int64(5))},
			check: func(r *result) bool {
				return r.RunAsUser.Value == 5 && r.RunAsGroup.Value == 2 && r.RunAsUsername == ""
			},
		},
		{
			name: "image's name", image: criconfig.ImageUser{Name: "www"},
			check: func(r *result) bool { return r.RunAsUser == nil && r.RunAsUsername == "www" },
		},
		{name: "image's id", image: criconfig.ImageUser{UID: new(int64(7))}, check: func(r *result) bool { return r.RunAsUser.Value == 7 }},
		{name: "non-root, image is root", own: v1.SecurityContext{RunAsNonRoot: new(true)}, failsAt: "securityContext.runAsNonRoot"},
		{name: "non-root, image has a name", pod: v1.PodSecurityContext{RunAsNonRoot: new(true)}, image: criconfig.ImageUser{Name: "www"}, failsAt: "securityContext.runAsNonRoot"},
		{name: "non-root, user 0", own: v1.SecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(0))}, failsAt: "securityContext.runAsNonRoot"},
		{name: "non-root, absurd image user", own: v1.SecurityContext{RunAsNonRoot: new(true)}, image: criconfig.ImageUser{UID: new(int64(-3))}, failsAt: "securityContext.runAsNonRoot"},
		{
			name: "non-root lifted by the container", pod: v1.PodSecurityContext{RunAsNonRoot: new(true)}, own: v1.SecurityContext{RunAsNonRoot: new(false)},
			check: func(r *result) bool { return r.RunAsUser.Value == 0 },
		},
		{
			name: "non-root, fine", own: v1.SecurityContext{RunAsNonRoot: new(true)}, image: criconfig.ImageUser{UID: new(int64(7))},
			check: func(r *result) bool { return r.RunAsUser.Value == 7 },
		},
		{name: "capabilities and flags", own: v1.SecurityContext{
			Capabilities: &v1.Capabilities{Add: []v1.Capability{"NET_ADMIN"}, Drop: []v1.Capability{"ALL"}},
			Privileged:   new(true), ReadOnlyRootFilesystem: new(true), AllowPrivilegeEscalation: new(false),
		}, check: func(r *result) bool {
			return slices.Equal(r.Capabilities.AddCapabilities, []string{"NET_ADMIN"}) && slices.Equal(r.Capabilities.DropCapabilities, []string{"ALL"}) &&
				r.Privileged && r.ReadonlyRootfs && r.NoNewPrivs
		}},
		{name: "escalation allowed", own: v1.SecurityContext{AllowPrivilegeEscalation: new(true)}, check: func(r *result) bool { return !r.NoNewPrivs }},
		{
			name: "unmasked proc", own: v1.SecurityContext{ProcMount: new(v1.UnmaskedProcMount)},
			check: func(r *result) bool { return len(r.MaskedPaths) == 0 && len(r.ReadonlyPaths) == 0 },
		},
		{name: "SELinux of the pod", pod: v1.PodSecurityContext{SELinuxOptions: &v1.SELinuxOptions{Type: "t"}}, check: func(r *result) bool { return r.SelinuxOptions.Type == "t" }},
		{
			name: "groups", pod: v1.PodSecurityContext{FSGroup: new(int64(1)), SupplementalGroups: []int64{2}, SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)},
			check: func(r *result) bool {
				return slices.Equal(r.SupplementalGroups, []int64{1, 2, 9}) && r.SupplementalGroupsPolicy == runtimeapi.SupplementalGroupsPolicy_Strict
			},
		},
		{name: "seccomp default", check: func(r *result) bool { return r.Seccomp.ProfileType == runtimeapi.SecurityProfile_RuntimeDefault }},
		{
			name: "seccomp localhost, own wins", pod: v1.PodSecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined}},
			own:   v1.SecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: new("p/x.json")}},
			check: func(r *result) bool { return r.Seccomp.LocalhostRef == "/seccomp/p/x.json" },
		},
		{name: "seccomp localhost without a name", own: v1.SecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost}}, failsAt: "securityContext.seccompProfile"},
		{
			name: "AppArmor annotation before the pod's field", pod: v1.PodSecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}},
			ann: map[string]string{"container.apparmor.security.beta.kubernetes.io/app": "localhost/mine"},
			check: func(r *result) bool {
				return r.Apparmor.String() == profile(runtimeapi.SecurityProfile_Localhost, "mine").String() && r.ApparmorProfile == "localhost/mine" //nolint:staticcheck // older runtimes read only this
			},
		},
		{
			name: "AppArmor of the container", own: v1.SecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}},
			check: func(r *result) bool { return r.Apparmor.ProfileType == runtimeapi.SecurityProfile_RuntimeDefault },
		},
		{name: "AppArmor unknown", own: v1.SecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: "Odd"}}, failsAt: "securityContext.appArmorProfile"},
	} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		pod.Spec.SecurityContext, c.SecurityContext, pod.Annotations = &tc.pod, &tc.own, tc.ann
		node := criconfig.Node{SeccompDefault: true, SeccompRoot: "/seccomp"}
		got, err := criconfig.Container(pod, c, node, criconfig.ContainerInput{ImageUser: tc.image, ExtraGroups: []int64{9}})
		if tc.failsAt != "" {
			wantError(t, tc.name, err, criconfig.ReasonContainerConfig, tc.failsAt)
			continue
		}
		if err != nil || !tc.check(got.Linux.SecurityContext) {
			t.Errorf("%s: %v, %v", tc.name, err, got.GetLinux().GetSecurityContext())
		}
	}
}

func TestContainerRefuses(t *testing.T) {
	both := map[string]criconfig.Volume{"v": {HostPath: "/v"}}
	for _, tc := range []struct {
		name    string
		edit    func(*v1.Container)
		in      criconfig.ContainerInput
		failsAt string
	}{
		{"volume not mounted", func(c *v1.Container) { c.VolumeMounts = []v1.VolumeMount{{Name: "v"}} }, criconfig.ContainerInput{}, "volumeMounts[0]"},
		{"no host path", func(c *v1.Container) { c.VolumeMounts = []v1.VolumeMount{{Name: "v"}} }, criconfig.ContainerInput{Volumes: map[string]criconfig.Volume{"v": {}}}, "volumeMounts[0]"},
		{"sub path not prepared", func(c *v1.Container) { c.VolumeMounts = []v1.VolumeMount{{Name: "v", SubPath: "a"}} }, criconfig.ContainerInput{Volumes: both}, "volumeMounts[0]"},
		{"sub path escapes", func(c *v1.Container) { c.VolumeMounts = []v1.VolumeMount{{Name: "v", SubPath: "a/../b"}} }, criconfig.ContainerInput{Volumes: both}, "volumeMounts[0]"},
		{"sub path absolute", func(c *v1.Container) { c.VolumeMounts = []v1.VolumeMount{{Name: "v", SubPath: "/a"}} }, criconfig.ContainerInput{Volumes: both}, "volumeMounts[0]"},
		{"sub path of nothing", func(c *v1.Container) { c.VolumeMounts = []v1.VolumeMount{{Name: "v", SubPathExpr: "$(NO)"}} }, criconfig.ContainerInput{Volumes: both}, "volumeMounts[0]"},
		{"propagation", func(c *v1.Container) {
			c.VolumeMounts = []v1.VolumeMount{{Name: "v", MountPropagation: new(v1.MountPropagationMode("Odd"))}}
		}, criconfig.ContainerInput{Volumes: both}, "volumeMounts[0]"},
		{"recursive read-only unsupported", func(c *v1.Container) {
			c.VolumeMounts = []v1.VolumeMount{{Name: "v", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyEnabled)}}
		}, criconfig.ContainerInput{Volumes: both}, "volumeMounts[0]"},
		{"recursive read-only of a writable mount", func(c *v1.Container) {
			c.VolumeMounts = []v1.VolumeMount{{Name: "v", RecursiveReadOnly: new(v1.RecursiveReadOnlyIfPossible)}}
		}, criconfig.ContainerInput{Volumes: both}, "volumeMounts[0]"},
		{"block volume missing", func(c *v1.Container) { c.VolumeDevices = []v1.VolumeDevice{{Name: "d", DevicePath: "/d"}} }, criconfig.ContainerInput{}, "volumeDevices[0]"},
		{"signal", func(c *v1.Container) { c.Lifecycle = &v1.Lifecycle{StopSignal: new(v1.Signal("RUNTIME_DEFAULT"))} }, criconfig.ContainerInput{}, "lifecycle.stopSignal"},
	} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		tc.edit(c)
		_, err := criconfig.Container(pod, c, criconfig.Node{StopSignals: true}, tc.in)
		wantError(t, tc.name, err, criconfig.ReasonContainerConfig, tc.failsAt)
	}
}

func TestMountPath(t *testing.T) {
	for mountPath, want := range map[string]string{"logs": "/logs", "./logs/": "/logs", "../logs": "/logs", "/logs/": "/logs/"} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		c.VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: mountPath}}
		cfg, err := criconfig.Container(pod, c, criconfig.Node{}, criconfig.ContainerInput{Volumes: map[string]criconfig.Volume{"v": {HostPath: "/v"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Mounts[0].ContainerPath; got != want {
			t.Errorf("%s: mounted at %s, want %s", mountPath, got, want)
		}
	}
}

// A container's status and an Event have the text of a mount's error, as upstream's, and nothing else.
func TestMountMessages(t *testing.T) {
	const refused = `failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is `
	env := []criconfig.Var{{Name: "EMPTY"}, {Name: "UP", Value: ".."}, {Name: "ROOT", Value: "/a"}, {Name: "SECRET", Value: "/s", Shown: "#"}}
	for want, m := range map[string]v1.VolumeMount{
		`cannot find volume "no" to mount into container "app"`:                              {Name: "no"},
		"missing value for EMPTY, NO":                                                        {SubPathExpr: "$(NO)/$(EMPTY)$(NO)"},
		"error SubPath `/a/b` must not be an absolute path":                                  {SubPathExpr: "$(ROOT)/b"},
		"error SubPath `#` must not be an absolute path":                                     {SubPathExpr: "$(SECRET)"},
		"unable to provision SubPath `b/..`: must not contain '..'":                          {SubPathExpr: "b/$(UP)"},
		`invalid MountPropagation mode: "Odd"`:                                               {MountPropagation: new(v1.MountPropagationMode("Odd"))},
		refused + "not supported by the runtime":                                             {ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyEnabled)},
		refused + "not read-only":                                                            {RecursiveReadOnly: new(v1.RecursiveReadOnlyIfPossible)},
		refused + `not compatible with propagation "Bidirectional"`:                          {ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyEnabled), MountPropagation: new(v1.MountPropagationBidirectional)},
		`failed to resolve recursive read-only mode: unknown recursive read-only mode "Odd"`: {ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyMode("Odd"))},
	} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		c.Name = "app"
		m.Name = cmp.Or(m.Name, "v")
		c.VolumeMounts = []v1.VolumeMount{m}
		_, err := criconfig.Container(pod, c, criconfig.Node{}, criconfig.ContainerInput{Env: env, Volumes: map[string]criconfig.Volume{"v": {HostPath: "/v"}}})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestContainerDetails(t *testing.T) {
	pod := examplePod()
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/etc/hosts"}}
	c.Lifecycle = &v1.Lifecycle{StopSignal: new(v1.Signal("SIGRTMIN+3"))}
	c.Resources = v1.ResourceRequirements{}
	pod.Spec.Resources = &v1.ResourceRequirements{Limits: quantities("cpu", "2", "memory", "1Gi", "hugepages-2Mi", "8Mi")}
	userNS := &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: []*runtimeapi.IDMapping{{HostId: 65536, Length: 65536}}}
	pod.Spec.HostUsers = new(false)
	node := criconfig.Node{CFSQuota: true, HugePageSizes: []string{"2MB"}, CgroupV2: true, StopSignals: true}
	plugin := &runtimeapi.Mount{ContainerPath: "/plugin"}
	got, err := criconfig.Container(pod, c, node, criconfig.ContainerInput{
		Volumes: map[string]criconfig.Volume{"v": {HostPath: "/v"}}, HostsFile: "/h", UserNS: userNS, TargetID: "t1",
		ExclusiveCPUs: true, CPUs: "2-3", MemoryNodes: "1", ExtraMounts: []*runtimeapi.Mount{plugin},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Mounts) != 2 || got.Mounts[0].UidMappings[0].HostId != 65536 || got.Mounts[1].UidMappings[0].HostId != 65536 {
		t.Errorf("mounts %v: want the plugin's and the pod's own /etc/hosts only, mapped", got.Mounts)
	}
	if plugin.UidMappings != nil {
		t.Error("the caller's mount was changed")
	}
	if got.StopSignal != runtimeapi.Signal_SIGNAL_SIGRTMINPLUS3 {
		t.Errorf("stop signal %v", got.StopSignal)
	}
	if ns := got.Linux.SecurityContext.NamespaceOptions; ns.Pid != runtimeapi.NamespaceMode_TARGET || ns.TargetId != "t1" || ns.UsernsOptions != userNS {
		t.Errorf("namespaces %v", ns)
	}
	diffProto(t, "pod-level limits", &runtimeapi.LinuxContainerResources{
		CpuShares: 2048, CpuPeriod: 100000, CpuQuota: -1, MemoryLimitInBytes: 1 << 30, OomScoreAdj: 999, CpusetCpus: "2-3", CpusetMems: "1",
		HugepageLimits: []*runtimeapi.HugepageLimit{{PageSize: "2MB", Limit: 8 << 20}},
		Unified:        map[string]string{"memory.oom.group": "1", "memory.high": "max"},
	}, got.Linux.Resources)
}

// Without the feature gate ContainerStopSignals, a signal of the spec has no effect, whatever it is.
func TestStopSignal(t *testing.T) {
	for _, tc := range []struct {
		on     bool
		signal v1.Signal
		want   runtimeapi.Signal
	}{
		{true, "SIGUSR1", runtimeapi.Signal_SIGNAL_SIGUSR1},
		{true, "SIGRTMAX-14", runtimeapi.Signal_SIGNAL_SIGRTMAXMINUS14},
		{true, "", runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT}, // not in the spec
		{false, "SIGUSR1", runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT},
		{false, "NONSENSE", runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT},
	} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		c.VolumeMounts, c.Lifecycle = nil, &v1.Lifecycle{}
		if tc.signal != "" {
			c.Lifecycle.StopSignal = &tc.signal
		}
		got, err := criconfig.Container(pod, c, criconfig.Node{StopSignals: tc.on}, criconfig.ContainerInput{})
		if err != nil || got.StopSignal != tc.want {
			t.Errorf("gate %t, %q: signal %v, error %v, want %v", tc.on, tc.signal, got.GetStopSignal(), err, tc.want)
		}
	}
}
