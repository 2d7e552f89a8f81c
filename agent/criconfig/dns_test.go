package criconfig_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

const resolvConf = `# made by hand
nameserver 192.168.1.1
nameserver fe80::1
search ignored.example
search corp.example. . home.example
options ndots:1 edns0
options ndots:2
`

func TestDNS(t *testing.T) {
	host, err := criconfig.ParseResolvConf([]byte(resolvConf))
	if err != nil {
		t.Fatal(err)
	}
	hostConfig := &runtimeapi.DNSConfig{
		Servers: []string{"192.168.1.1", "fe80::1"}, Searches: []string{"corp.example", "home.example"}, Options: []string{"ndots:2", "edns0"},
	}
	cluster := criconfig.DNSInput{Host: host, ClusterDNS: []string{"10.96.0.10"}, ClusterDomain: "cluster.local"}
	clusterConfig := &runtimeapi.DNSConfig{
		Servers:  []string{"10.96.0.10"},
		Searches: []string{"shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example", "home.example"},
		Options:  []string{"ndots:5"},
	}
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("d%d.example", i))
	}
	long := strings.Repeat("x", 250)
	for _, tc := range []struct {
		name        string
		policy      v1.DNSPolicy
		hostNetwork bool
		in          criconfig.DNSInput
		extra       *v1.PodDNSConfig
		want        *runtimeapi.DNSConfig
		warnings    string
	}{
		{name: "cluster first", policy: v1.DNSClusterFirst, in: cluster, want: clusterConfig},
		{name: "policy unset", in: cluster, want: clusterConfig},
		{name: "cluster first on the host network", policy: v1.DNSClusterFirst, hostNetwork: true, in: cluster, want: hostConfig},
		{name: "with host net", policy: v1.DNSClusterFirstWithHostNet, hostNetwork: true, in: cluster, want: clusterConfig},
		{name: "default", policy: v1.DNSDefault, in: cluster, want: hostConfig},
		{name: "no cluster DNS", policy: v1.DNSClusterFirst, in: criconfig.DNSInput{Host: host}, want: hostConfig, warnings: "MissingClusterDNS"},
		{name: "no cluster domain", policy: v1.DNSClusterFirst, in: criconfig.DNSInput{Host: host, ClusterDNS: []string{"1.1.1.1"}}, want: &runtimeapi.DNSConfig{
			Servers: []string{"1.1.1.1"}, Searches: hostConfig.Searches, Options: []string{"ndots:5"},
		}},
		{name: "no resolv.conf", policy: v1.DNSDefault, in: criconfig.DNSInput{NodeIPs: []string{"10.0.0.1", "fd00::1"}}, want: &runtimeapi.DNSConfig{
			Servers: []string{"127.0.0.1", "::1"}, Searches: []string{"."},
		}},
		{name: "nothing known", policy: v1.DNSDefault, want: &runtimeapi.DNSConfig{Servers: []string{"127.0.0.1"}, Searches: []string{"."}}},
		{name: "none", policy: v1.DNSNone, in: cluster, extra: &v1.PodDNSConfig{
			Nameservers: []string{"9.9.9.9"}, Searches: []string{"a"}, Options: []v1.PodDNSConfigOption{{Name: "rotate"}, {Name: "ndots", Value: new("3")}},
		}, want: &runtimeapi.DNSConfig{Servers: []string{"9.9.9.9"}, Searches: []string{"a"}, Options: []string{"rotate", "ndots:3"}}},
		{name: "merged", policy: v1.DNSDefault, in: cluster, extra: &v1.PodDNSConfig{
			Nameservers: []string{"192.168.1.1", "9.9.9.9"}, Searches: []string{"corp.example", "b"}, Options: []v1.PodDNSConfigOption{{Name: "ndots", Value: new("7")}},
		}, want: &runtimeapi.DNSConfig{
			Servers: []string{"192.168.1.1", "fe80::1", "9.9.9.9"}, Searches: []string{"corp.example", "home.example", "b"}, Options: []string{"ndots:7", "edns0"},
		}},
		{name: "too many", policy: v1.DNSNone, extra: &v1.PodDNSConfig{Nameservers: []string{"1", "2", "3", "4"}, Searches: many}, want: &runtimeapi.DNSConfig{
			Servers: []string{"1", "2", "3"}, Searches: many[:32],
		}, warnings: "DNSConfigForming DNSConfigForming"},
		{name: "too long", policy: v1.DNSNone, extra: &v1.PodDNSConfig{Searches: []string{
			long + "1", strings.Repeat("y", 254), long + "2", long + "3", long + "4", long + "5", long + "6", long + "7", long + "8", long + "9",
		}}, want: &runtimeapi.DNSConfig{
			Searches: []string{long + "1", long + "2", long + "3", long + "4", long + "5", long + "6", long + "7", long + "8"},
		}, warnings: "DNSConfigForming"},
	} {
		pod := examplePod()
		pod.Spec.DNSPolicy, pod.Spec.HostNetwork, pod.Spec.DNSConfig = tc.policy, tc.hostNetwork, tc.extra
		got, warnings := criconfig.DNS(pod, tc.in)
		diffProto(t, tc.name, tc.want, got)
		var reasons []string
		for _, w := range warnings {
			reasons = append(reasons, w.Reason)
		}
		if strings.Join(reasons, " ") != tc.warnings {
			t.Errorf("%s: warnings %v, want %s", tc.name, warnings, tc.warnings)
		}
	}
	if len(host.Searches) != 2 || host.Options[0] != "ndots:2" {
		t.Errorf("the shared resolv.conf was changed: %+v", host)
	}
	if _, err := criconfig.ParseResolvConf([]byte("nameserver\n")); err == nil {
		t.Error("a nameserver line without an address was accepted")
	}
}
