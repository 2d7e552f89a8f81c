package discover

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestPodResources finds the socket of the podresources API, the policies that are configured, and the NUMA nodes.
func TestPodResources(t *testing.T) {
	const config = "kind: KubeletConfiguration\n"
	for name, c := range map[string]struct {
		config  string
		args    []string
		want    Policies
		missing string
	}{
		"defaults": {config, nil, Policies{CPU: "none", Memory: "None", Topology: "none"}, ""},
		"a file": {
			config + "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {full-pcpus-only: \"true\", align-by-socket: \"false\", distribute-cpus-across-numa: \"true\"}\n" +
				"memoryManagerPolicy: Static\ntopologyManagerPolicy: restricted\ntopologyManagerScope: pod\n", nil,
			Policies{CPU: "static", Memory: "Static", Topology: "restricted", Scope: "pod", Options: "distribute-cpus-across-numa,full-pcpus-only"},
			"",
		},
		"flags": {
			config + "cpuManagerPolicy: none\ncpuManagerPolicyOptions: {align-by-socket: \"true\"}\n",
			[]string{"--cpu-manager-policy=static", "--cpu-manager-policy-options=full-pcpus-only=true,x=no", "--topology-manager-policy=best-effort"},
			Policies{CPU: "static", Memory: "None", Topology: "best-effort", Scope: "container", Options: "full-pcpus-only"},
			"",
		},
		"a file that cannot be read": {"{", []string{"--memory-manager-policy=Static"}, Policies{Memory: "Static"}, ""},
		"no socket":                  {config, nil, Policies{CPU: "none", Memory: "None", Topology: "none"}, "there is no socket /data/kubelet/pod-resources/kubelet.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"/etc/kubelet.yaml": c.config}
			if c.missing == "" {
				files["/data/kubelet/pod-resources/kubelet.sock"] = ""
			}
			m := newMachine(journaled(proc{
				pid: 700, parent: 1, exe: "/usr/bin/kubelet", cgroup: "/system.slice/kubelet.service", tcp6: []string{onServer6},
				args: append([]string{"/usr/bin/kubelet", "--config=/etc/kubelet.yaml", "--root-dir=/data/kubelet"}, c.args...), files: files,
			}))
			for name, list := range map[string]string{"node1": "4-7", "node0": "0-3", "node10": "8", "nodex": "9"} {
				m.MapFS["sys/devices/system/node/"+name+"/cpulist"] = &fstest.MapFile{Data: []byte(list + "\n")}
			}
			f, err := Discover(m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, f.Config.Policies); d != "" {
				t.Error(d)
			}
			source := f.Sources[6]
			if source.Name != SourceResources || source.There != (c.missing == "") || !strings.Contains(source.Missing, c.missing) {
				t.Errorf("got %+v", source)
			}
			if c.missing != "" {
				return
			}
			if f.PodResources != f.Outside("/data/kubelet/pod-resources/kubelet.sock") || strings.Contains(source.Missing, "NUMA") {
				t.Errorf("got %s, %+v", f.PodResources, source)
			}
			if d := cmp.Diff([]NUMANode{{0, "0-3"}, {1, "4-7"}, {10, "8"}}, f.NUMA); d != "" {
				t.Error(d)
			}
		})
	}
}
