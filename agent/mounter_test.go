package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// With --experimental-mounter-path, that program mounts file systems of the network.
func TestMounter(t *testing.T) {
	h := newHost(t, nil)
	_, flags := h.api()
	program, calls := filepath.Join(h.dir, "mounter"), filepath.Join(h.dir, "calls")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$*\" >> "+calls+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	n := run(t, h.config(append(flags, "--experimental-mounter-path", program)...))
	p := podOf("web")
	p.Spec.Volumes = []v1.Volume{{Name: "share", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "192.0.2.1", Path: "/data"}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "share", MountPath: "/share"}}
	n.source.Set(p)
	n.until("start", milestone("started", p))
	text, err := os.ReadFile(calls)
	if want := "mount -t nfs 192.0.2.1:/data " + filepath.Join(h.dir, "root", "pods", string(p.UID)); err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("called with %q, %v, want %q", text, err, want)
	}
	n.end()
}
