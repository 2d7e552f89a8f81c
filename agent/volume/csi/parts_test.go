package csi

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// Calls that set up a volume of a type that the driver has now say so. The last pod's unmount has the driver's unstaging as a part.
func TestRecordsOfAMigratedVolume(t *testing.T) {
	rec := tracetest.New(t)
	n := newLabelNode(t, v1.ReadWriteMany, false)
	n.bus, n.pv.Annotations = rec.Bus(), map[string]string{"pv.kubernetes.io/migrated-to": "d"}
	n.start()
	n.mount(levelPod("a", ""))
	n.mount(levelPod("b", ""))
	n.unmount("a")
	n.unmount("b")
	var calls, ops []string
	for _, r := range rec.Records() {
		if r.Edge != trace.EdgeEnd {
			continue
		}
		switch e := r.Event.(type) {
		case *trace.CSICall:
			if e.Volume != "" {
				calls = append(calls, fmt.Sprint(e.Method, " ", e.Migrated))
			}
		case *trace.Volume:
			if part := e.Unstaging; part.Failed || e.Attaching.Took != 0 || e.Owning.Took != 0 {
				t.Errorf("%+v", e)
			}
			ops = append(ops, fmt.Sprint(e.Op, " ", e.Unstaging.Took > 0))
		}
	}
	if diff := cmp.Diff([]string{
		"NodeStageVolume true", "NodePublishVolume true", "NodePublishVolume true", "NodeUnpublishVolume false", "NodeUnpublishVolume false", "NodeUnstageVolume false",
	}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"setup false", "setup false", "teardown false", "teardown true"}, ops); diff != "" {
		t.Errorf("operations with an unstaging (-want +got):\n%s", diff)
	}
}
