package podruntime

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// In the environment, a pod has the addresses of its status, in the same order.
func TestPodIPsInEnvironment(t *testing.T) {
	w := newWorld(t, nil)
	w.rt.cfg.HostIPs, w.rt.cfg.Family = func() []string { return []string{"192.0.2.1", "2001:db8::1"} }, podstate.IPv6
	c := containerNamed("web")
	for name, path := range map[string]string{"IP": "status.podIP", "IPS": "status.podIPs"} {
		c.Env = append(c.Env, v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}})
	}
	r := &run{Runtime: w.rt, pod: podOf(v1.RestartPolicyAlways, c), podIPs: []string{"10.0.0.5", "fd00::5"}}
	vars, err := r.env(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range vars {
		got[v.Name] = v.Value
	}
	equal(t, "the address", "fd00::5", got["IP"])
	equal(t, "all addresses", "fd00::5,10.0.0.5", got["IPS"])
	equal(t, "what the hosts file has", "10.0.0.5", r.podIPs[0])
}
