package admission

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// TestPortsAsOneByOne compares with a check of each pair of ports.
func TestPortsAsOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ips, all := []string{"", "0.0.0.0", "::", "10.0.0.1", "10.0.0.2"}, map[string]bool{"": true, "0.0.0.0": true}
	some := func(n int) (ports []v1.ContainerPort) {
		for range rng.IntN(n) {
			ports = append(ports, v1.ContainerPort{
				HostPort: int32(rng.IntN(4)), HostIP: ips[rng.IntN(len(ips))], Protocol: []v1.Protocol{"", v1.ProtocolTCP, v1.ProtocolUDP}[rng.IntN(3)],
			})
		}
		return ports
	}
	for range 5000 {
		in := Inputs{Pod: podWith("p", some(3)...)}
		for i := range rng.IntN(4) {
			in.Others = append(in.Others, podWith(fmt.Sprint("o", i), some(3)...))
		}
		want := ""
		for _, a := range hostPorts(in.Pod) {
			for _, o := range in.Others {
				for _, b := range hostPorts(o) {
					if want == "" && a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || all[a.ip] || all[b.ip]) {
						want = fmt.Sprintf("host port %d/%s is taken by ns/%s", a.port, a.protocol, o.Name)
					}
				}
			}
		}
		got := in.ports()
		conflict := predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
		conflict.Detail = want
		if (len(got) > 0) != (want != "") || want != "" && !reflect.DeepEqual(got[0], conflict) {
			t.Fatalf("%v, want %q", got, want)
		}
	}
}

// TestManyPorts: in the past, each port of a pod was compared with each port of each other pod.
func TestManyPorts(t *testing.T) {
	pod := func(name, ip string) *v1.Pod {
		var ports []v1.ContainerPort
		for i := range int32(20_000) {
			ports = append(ports, v1.ContainerPort{HostPort: i + 1, HostIP: ip})
		}
		return podWith(name, ports...)
	}
	in := Inputs{Pod: pod("p", "10.0.0.255")}
	for i := range 20 {
		in.Others = append(in.Others, pod(fmt.Sprint("o", i), fmt.Sprint("10.0.0.", i)))
	}
	if got := in.ports(); len(got) > 0 {
		t.Error(got)
	}
}
