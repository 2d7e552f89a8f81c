package criconfig_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

func TestSandbox(t *testing.T) {
	pod := examplePod()
	pod.Spec.Overhead = quantities("cpu", "50m", "memory", "16Mi")
	pod.Spec.SecurityContext = &v1.PodSecurityContext{
		RunAsUser: new(int64(1000)), RunAsGroup: new(int64(2000)), FSGroup: new(int64(3000)),
		SupplementalGroups: []int64{4000},
		SELinuxOptions:     &v1.SELinuxOptions{Level: "s0:c1"},
		Sysctls:            []v1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}},
		SeccompProfile:     &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined},
	}
	dns := &runtimeapi.DNSConfig{Servers: []string{"10.0.0.10"}}
	got, err := criconfig.Sandbox(pod, criconfig.Node{CFSQuota: true}, criconfig.SandboxInput{
		Attempt: 2, CgroupParent: "/kubepods/burstable/poduid-1", DNS: dns, ExtraGroups: []int64{5000},
	})
	if err != nil {
		t.Fatal(err)
	}
	diffProto(t, "sandbox", &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "shop", Uid: "uid-1", Attempt: 2},
		Hostname:     "web",
		LogDirectory: "/var/log/pods/shop_web_uid-1",
		DnsConfig:    dns,
		PortMappings: []*runtimeapi.PortMapping{{ContainerPort: 80, HostPort: 8080}},
		Labels: map[string]string{
			"app": "web", "io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.uid": "uid-1",
		},
		Annotations: map[string]string{"note": "x"},
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent: "/kubepods/burstable/poduid-1",
			SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
				NamespaceOptions: &runtimeapi.NamespaceOption{
					Pid:           runtimeapi.NamespaceMode_CONTAINER,
					UsernsOptions: &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE},
				},
				SelinuxOptions:     &runtimeapi.SELinuxOption{Level: "s0:c1"},
				RunAsUser:          &runtimeapi.Int64Value{Value: 1000},
				RunAsGroup:         &runtimeapi.Int64Value{Value: 2000},
				SupplementalGroups: []int64{3000, 5000, 4000},
				Seccomp:            &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
			},
			Sysctls:   map[string]string{"net.core.somaxconn": "1024"},
			Resources: &runtimeapi.LinuxContainerResources{CpuShares: 102, CpuPeriod: 100000, CpuQuota: 50000, MemoryLimitInBytes: 128 << 20},
			Overhead:  &runtimeapi.LinuxContainerResources{CpuShares: 51, CpuPeriod: 100000, CpuQuota: 5000, MemoryLimitInBytes: 16 << 20},
		},
	}, got)
	if pod.Labels["io.kubernetes.pod.name"] != "" {
		t.Error("the pod's own labels were changed")
	}
}

func TestSandboxVariants(t *testing.T) {
	const pod, node, container = runtimeapi.NamespaceMode_POD, runtimeapi.NamespaceMode_NODE, runtimeapi.NamespaceMode_CONTAINER
	for _, tc := range []struct {
		name          string
		edit          func(*v1.PodSpec)
		net, ipc, pid runtimeapi.NamespaceMode
		hostname      string
		privileged    bool
		ports         int
		failsAt       string
	}{
		{name: "plain", edit: func(*v1.PodSpec) {}, net: pod, ipc: pod, pid: container, hostname: "web", ports: 1},
		{name: "host everything", edit: func(s *v1.PodSpec) { s.HostNetwork, s.HostIPC, s.HostPID = true, true, true }, net: node, ipc: node, pid: node, ports: 1},
		{name: "shared processes", edit: func(s *v1.PodSpec) { s.ShareProcessNamespace = new(true) }, pid: pod, hostname: "web", ports: 1},
		{name: "fqdn", edit: func(s *v1.PodSpec) {
			s.Hostname, s.Subdomain, s.SetHostnameAsFQDN = "h", "sub", new(true)
		}, pid: container, hostname: "h.sub.shop.svc.cluster.local", ports: 1},
		{name: "fqdn too long", edit: func(s *v1.PodSpec) {
			s.Subdomain, s.SetHostnameAsFQDN = strings.Repeat("s", 60), new(true)
		}, failsAt: "spec.setHostnameAsFQDN"},
		{name: "bad hostname", edit: func(s *v1.PodSpec) { s.Hostname = "No Good" }, failsAt: "spec.hostname"},
		{name: "privileged init", edit: func(s *v1.PodSpec) {
			s.InitContainers = []v1.Container{{SecurityContext: &v1.SecurityContext{Privileged: new(true)}}}
		}, pid: container, hostname: "web", privileged: true, ports: 1},
		{name: "privileged debugger", edit: func(s *v1.PodSpec) {
			s.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
				SecurityContext: &v1.SecurityContext{Privileged: new(true)},
			}}}
		}, pid: container, hostname: "web", privileged: true, ports: 1},
		{name: "ports", edit: func(s *v1.PodSpec) {
			s.Containers[0].Ports = []v1.ContainerPort{
				{ContainerPort: 53, Protocol: v1.ProtocolTCP},
				{ContainerPort: 53, Protocol: v1.ProtocolUDP},
				{ContainerPort: 53, Protocol: v1.ProtocolTCP}, // seen before
				{ContainerPort: 53, Protocol: v1.ProtocolTCP, HostIP: "::1"},
				{Name: "x", ContainerPort: 1},
				{Name: "x", ContainerPort: 2}, // name taken
			}
		}, pid: container, hostname: "web", ports: 4},
		{name: "user namespace missing", edit: func(s *v1.PodSpec) { s.HostUsers = new(false) }, failsAt: "spec.hostUsers"},
		{name: "groups policy", edit: func(s *v1.PodSpec) {
			s.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicy("Odd"))}
		}, failsAt: "spec.securityContext.supplementalGroupsPolicy"},
	} {
		p := examplePod()
		tc.edit(&p.Spec)
		got, err := criconfig.Sandbox(p, criconfig.Node{ClusterDomain: "cluster.local"}, criconfig.SandboxInput{})
		if tc.failsAt != "" {
			wantError(t, tc.name, err, criconfig.ReasonSandbox, tc.failsAt)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		ns := got.Linux.SecurityContext.NamespaceOptions
		if ns.Network != tc.net || ns.Ipc != tc.ipc || ns.Pid != tc.pid {
			t.Errorf("%s: namespaces %v", tc.name, ns)
		}
		if got.Hostname != tc.hostname || got.Linux.SecurityContext.Privileged != tc.privileged || len(got.PortMappings) != tc.ports {
			t.Errorf("%s: hostname %q, privileged %v, ports %v", tc.name, got.Hostname, got.Linux.SecurityContext.Privileged, got.PortMappings)
		}
	}
}

func TestHostname(t *testing.T) {
	long := strings.Repeat("a", 62)
	for _, tc := range []struct{ name, hostname, subdomain, override, want, domain string }{
		{name: "web", want: "web"},
		{name: "web", hostname: "h", subdomain: "sub", want: "h", domain: "sub.shop.svc.cluster.local"},
		{name: long + "bc", want: long + "b"},
		{name: long + "-.c", want: long},
		{name: "web", hostname: "h", subdomain: "sub", override: "my.own.name", want: "my.own.name"},
	} {
		pod := examplePod()
		pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain = tc.name, tc.hostname, tc.subdomain
		if tc.override != "" {
			pod.Spec.HostnameOverride = &tc.override
		}
		got, domain, err := criconfig.Hostname(pod, "cluster.local")
		if err != nil || got != tc.want || domain != tc.domain {
			t.Errorf("%s: %q %q %v, want %q %q", tc.name, got, domain, err, tc.want, tc.domain)
		}
	}
}

// What is sent with a pull is part of what is sent for the sandbox.
func TestPullSandbox(t *testing.T) {
	pod := examplePod()
	pod.Labels, pod.Annotations = map[string]string{"app": "web"}, map[string]string{"io.containerd.cri.runtime-handler": "kata"}
	whole, err := criconfig.Sandbox(pod, criconfig.Node{}, criconfig.SandboxInput{CgroupParent: "/kubepods/poduid"})
	if err != nil {
		t.Fatal(err)
	}
	want := &runtimeapi.PodSandboxConfig{
		Metadata: whole.Metadata, Labels: whole.Labels, Annotations: whole.Annotations, Linux: &runtimeapi.LinuxPodSandboxConfig{CgroupParent: whole.Linux.CgroupParent},
	}
	diffProto(t, "pull", want, criconfig.PullSandbox(pod, "/kubepods/poduid"))
}

func TestHosts(t *testing.T) {
	pod := examplePod()
	pod.Spec.HostAliases = []v1.HostAlias{{IP: "1.2.3.4", Hostnames: []string{"a", "b"}}}
	got := string(criconfig.Hosts(pod, []string{"10.0.0.1", "fd00::1"}, "web", "sub.shop.svc.x", nil))
	want := "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n" +
		"10.0.0.1\tweb.sub.shop.svc.x\tweb\nfd00::1\tweb.sub.shop.svc.x\tweb\n" +
		"\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n"
	diffProto(t, "pod network", want, got)

	pod.Spec.HostNetwork, pod.Spec.HostAliases = true, nil
	got = string(criconfig.Hosts(pod, nil, "web", "", []byte("127.0.0.1 node\n")))
	diffProto(t, "host network", "# Kubernetes-managed hosts file (host network).\n127.0.0.1 node\n", got)
}

// Tools match upstream's text.
func TestLongFQDN(t *testing.T) {
	p := examplePod()
	p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = strings.Repeat("s", 60), new(true)
	_, err := criconfig.Sandbox(p, criconfig.Node{ClusterDomain: "cluster.local"}, criconfig.SandboxInput{})
	const begins = "failed to construct FQDN from pod hostname and cluster domain, FQDN "
	if err == nil || !strings.HasPrefix(err.Error(), begins) || !strings.Contains(err.Error(), "(64 characters is the max, ") {
		t.Errorf("%v, want it to begin with %q", err, begins)
	}
}
