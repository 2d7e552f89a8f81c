package bundle_test

import (
	"path/filepath"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestJournal reads what journalctl -o export wrote on a node of make attach-vm: the kubelet at V2 and containerd, whose entries have a
// binary field with a line's end (_SELINUX_CONTEXT).
func TestJournal(t *testing.T) {
	recs, lost := all(t, open(t, filepath.Join(data, "v2.journal.gz")))
	if lost > 0 {
		t.Errorf("%d records are lost", lost)
	}
	const pod = "after-journald"
	observers, ready := map[trace.Observer]bool{}, false
	for _, r := range recs {
		if r.Pod.Name != pod {
			continue
		}
		observers[r.Observer] = true
		if m, ok := r.Event.(*trace.Milestone); ok && m.Name == trace.MilestoneReady {
			ready = true
		}
	}
	if !observers[trace.ObserverKubeletLog] || !observers[trace.ObserverRuntimeLog] || !ready {
		t.Errorf("of %s: observers %v, ready %v", pod, observers, ready)
	}
}
