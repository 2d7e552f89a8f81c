package criconfig

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// A default sysctl is for pods with the namespace that it belongs to; a pod's own comes first.
func TestDefaultSysctls(t *testing.T) {
	defaults := map[string]string{
		"kernel.shmmax": "1", "fs.mqueue.msg_max": "2", "net/ipv4/ip_local_port_range": "3 4", "user.max_inotify_watches": "5", "kernel.domainname": "six", "kernel.pid_max": "7",
	}
	ipc := map[string]string{"kernel.shmmax": "1", "fs.mqueue.msg_max": "2"}
	network := map[string]string{"net.ipv4.ip_local_port_range": "3 4", "kernel.domainname": "six"}
	users := map[string]string{"user.max_inotify_watches": "5"}
	for _, c := range []struct {
		name string
		spec v1.PodSpec
		want []map[string]string
	}{
		{"its own network and IPC", v1.PodSpec{}, []map[string]string{ipc, network}},
		{"host network", v1.PodSpec{HostNetwork: true}, []map[string]string{ipc}},
		{"host IPC", v1.PodSpec{HostIPC: true}, []map[string]string{network}},
		{"host users", v1.PodSpec{HostUsers: new(true)}, []map[string]string{ipc, network}},
		{"its own users", v1.PodSpec{HostUsers: new(false)}, []map[string]string{ipc, network, users}},
		{
			"its own value",
			v1.PodSpec{HostNetwork: true, SecurityContext: &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "kernel.shmmax", Value: "9"}}}},
			[]map[string]string{ipc, {"kernel.shmmax": "9"}},
		},
		{
			"its own value, with slashes",
			v1.PodSpec{HostIPC: true, SecurityContext: &v1.PodSecurityContext{Sysctls: []v1.Sysctl{
				{Name: "net/ipv4/ip_local_port_range", Value: "9 10"}, {Name: "net/ipv4/conf/eth0.1/forwarding", Value: "1"},
			}}},
			[]map[string]string{network, {"net.ipv4.ip_local_port_range": "9 10", "net.ipv4.conf.eth0/1.forwarding": "1"}},
		},
	} {
		want := map[string]string{}
		for _, m := range c.want {
			maps.Copy(want, m)
		}
		if d := cmp.Diff(want, sysctls(&v1.Pod{Spec: c.spec}, defaults)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
