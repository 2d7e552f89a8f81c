package userns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func wants(uid string) *v1.Pod {
	p := &v1.Pod{}
	p.UID, p.Name = types.UID(uid), uid
	p.Spec.HostUsers = new(false)
	return p
}

func TestRanges(t *testing.T) {
	root := t.TempDir()
	first := func(r *Ranges, uid string) uint32 {
		t.Helper()
		ns, err := r.Of(wants(uid))
		if err != nil {
			t.Fatal(err)
		}
		return ns.Uids[0].HostId
	}
	open := func() *Ranges {
		t.Helper()
		r, err := New(Config{RootDir: root, MaxPods: 2, Range: Range{DefaultPerPod, 2 * DefaultPerPod}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open()
	if ns, err := r.Of(&v1.Pod{}); ns != nil || err != nil {
		t.Errorf("a pod with the host's users got %v, %v", ns, err)
	}
	a, b := first(r, "a"), first(r, "b")
	if a == b || a < DefaultPerPod || b < DefaultPerPod || a%DefaultPerPod != 0 {
		t.Errorf("ranges begin at %d and %d", a, b)
	}
	if _, err := r.Of(wants("c")); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a third of two: %v", err)
	}
	if err := os.Remove(filepath.Join(root, "pods", "b", fileName)); err != nil {
		t.Fatal(err)
	}
	if got := first(r, "b"); got != b {
		t.Errorf("after its file was removed b begins at %d, before %d", got, b)
	}
	r = open() // a restart
	if got := first(r, "a"); got != a {
		t.Errorf("after a restart a begins at %d, before %d", got, a)
	}
	if _, err := r.Of(wants("c")); err == nil {
		t.Error("a restart forgot what is in use")
	}
	if removed, err := r.Clean(t.Context(), func(uid types.UID) bool { return uid == "a" }); err != nil || len(removed) != 1 {
		t.Errorf("cleaned %v, %v", removed, err)
	}
	if got := first(r, "c"); got != b {
		t.Errorf("c begins at %d, b's range at %d is free", got, b)
	}
	if err := os.WriteFile(filepath.Join(root, "pods", "c", fileName), []byte(`{"uidMappings":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	// Its range may be any: the others keep theirs, and no pod gets a new one until the pod is gone.
	rec := tracetest.New(t)
	r, err := New(Config{RootDir: root, MaxPods: 9, Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	if logs := tracetest.Events[trace.Log](rec); len(logs) != 1 || !strings.Contains(logs[0].Message, "pods/c/userns: want one mapping") {
		t.Errorf("a broken file: told %+v", logs)
	}
	if got := first(r, "a"); got != a {
		t.Errorf("beside a broken file a begins at %d, before %d", got, a)
	}
	if _, err := r.Of(wants("d")); err == nil || !strings.Contains(err.Error(), "which ids pod c has") {
		t.Errorf("beside a broken file a new pod gets %v", err)
	}
	if _, err := r.Clean(t.Context(), func(uid types.UID) bool { return uid != "c" }); err != nil {
		t.Error(err)
	}
	if got := first(r, "d"); got != b {
		t.Errorf("once the broken file's pod is gone d begins at %d, want %d", got, b)
	}
	if d := tracetest.Events[trace.Decision](rec); len(d) != 1 || d[0].By != trace.ByUserNS || d[0].Verdict != trace.VerdictMap || d[0].Subject != "/d" {
		t.Errorf("decisions %+v, want the one for d", d)
	}
}

// More pods than the node may have can get IDs: some of them terminate.
func TestMoreThanMaxPods(t *testing.T) {
	r, err := New(Config{RootDir: t.TempDir(), MaxPods: 1})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]bool{}
	for _, uid := range []string{"a", "b", "c"} {
		ns, err := r.Of(wants(uid))
		if err != nil || seen[ns.Uids[0].HostId] {
			t.Fatalf("%s: %v, %v", uid, ns, err)
		}
		seen[ns.Uids[0].HostId] = true
	}
	if n := r.count(); n != 1<<16-1 {
		t.Errorf("%d ranges", n)
	}
}
