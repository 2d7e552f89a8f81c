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

// A pod with an iSCSI volume on a node without iscsiadm: the error names the program, and the pod's end leaves nothing.
func TestISCSIWithoutProgram(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	t.Setenv("PATH", t.TempDir())
	n := run(t, h.config())
	p := podOf("web")
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{TargetPortal: "192.0.2.1", IQN: "iqn.2003-01.com.example:disk", FSType: "ext4"}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	n.source.Set(p)
	n.until("the failure", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Volume)
		return ok && r.Edge == trace.EdgeEnd && e.Plugin == "kubernetes.io/iscsi" && strings.Contains(e.Err, "iscsiadm: show interface default: the program is not installed")
	})
	n.source.Set()
	n.until("gone", milestone("gone", p))
	n.end()
	if left, err := os.ReadDir(filepath.Join(h.dir, "root", "plugins", "kubernetes.io", "iscsi", "iface-default")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
