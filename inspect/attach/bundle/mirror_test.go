package bundle_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestMirrorInDump reads a log beside a dump with the mirror of a static pod: both tell of one pod, by the UID that the kubelet knows.
func TestMirrorInDump(t *testing.T) {
	dir := t.TempDir()
	const uid = "0123456789abcdef0123456789abcdef"
	write(t, dir, "kubelet.log", `I1122 08:00:01.000000 1 a.go:1] "SyncLoop ADD" source="file" pods=["kube-system/etcd-n1"]
I1122 08:00:02.000000 1 a.go:1] "SyncLoop (PLEG): event for pod" pod="kube-system/etcd-n1" event={"ID":"`+uid+`","Type":"ContainerStarted","Data":"0123456789abcdef"}
`)
	write(t, dir, "all.json", `{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod", "metadata": {"name": "etcd-n1", "namespace": "kube-system", "uid": "3c1f0c3e-0000-4000-8000-000000000000",
"deletionTimestamp": "2026-11-22T08:00:04Z", "annotations": {"kubernetes.io/config.hash": "`+uid+`", "kubernetes.io/config.mirror": "`+uid+`", "kubernetes.io/config.source": "file"}},
"spec": {"containers": [{"name": "etcd"}]}, "status": {"startTime": "2026-11-22T08:00:03Z"}}]}`)
	s, err := bundle.Open(t.Context(), []string{filepath.Join(dir, "kubelet.log"), filepath.Join(dir, "all.json")}, bundle.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	recs, _ := all(t, s)
	spec := false
	for i := range recs {
		if p := recs[i].Pod; p.Name != "" && p.UID != uid {
			t.Errorf("%v is of the UID %q", recs[i].Event.Kind(), p.UID)
		}
		if m, ok := recs[i].Event.(*trace.Milestone); ok {
			spec = spec || m.Spec != nil
			if m.Name == trace.MilestoneTerminating || m.Source != "" && m.Source != trace.SourceFile {
				t.Errorf("got %s from %s", m.Name, m.Source)
			}
		}
	}
	if !spec {
		t.Error("the spec is missing")
	}
}
