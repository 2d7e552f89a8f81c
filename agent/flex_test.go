package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A pod with a flexvolume waits for its driver, starts when that is installed in volumePluginDir, and its end unmounts the volume.
func TestFlexvolume(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	dir := filepath.Join(t.TempDir(), "exec")
	n := run(t, h.config("--volume-plugin-dir", dir))
	p := podOf("web")
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{FlexVolume: &v1.FlexVolumeSource{Driver: "example.com/disk"}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	n.source.Set(p)
	n.until("the failure", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Volume)
		return ok && r.Edge == trace.EdgeEnd && e.Plugin == "example.com/disk" && strings.Contains(e.Err, "flexvolume driver example.com/disk is not installed")
	})
	program := filepath.Join(dir, "example.com~disk", "disk")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\ncase $1 in\ninit) echo '{\"status\": \"Success\", \"capabilities\": {\"attach\": false}}';;\n*) echo '{\"status\": \"Success\"}';;\nesac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	n.until("start", milestone("started", p))
	call := func(method string) func(*trace.Record) bool {
		return func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.CSICall)
			return ok && r.Edge == trace.EdgeEnd && e.Flex && e.Driver == "example.com/disk" && e.Method == method && e.Code == "OK"
		}
	}
	if _, err := os.Lstat(filepath.Join(h.dir, "root", "pods", string(p.UID), "volumes", "example.com~disk", "data")); err != nil {
		t.Error(err)
	}
	n.source.Set()
	n.until("unmount", call("unmount"))
	n.until("gone", milestone("gone", p))
	n.end()
	if open := n.open(); len(open) > 0 {
		t.Errorf("not ended: %q", open)
	}
}
