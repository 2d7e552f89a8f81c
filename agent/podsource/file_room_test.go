package podsource

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// passes is a file source over a directory. The test runs its passes.
type passes struct {
	t   *testing.T
	dir string
	rec *tracetest.Recorder
	f   *File
	set []string
}

func newPasses(t *testing.T, most int, refused func(types.UID) bool) *passes {
	t.Helper()
	b := &passes{t: t, dir: t.TempDir(), rec: tracetest.New(t)}
	var err error
	b.f, err = NewFile(FileConfig{Path: b.dir, Node: "n1", Most: most, Refused: refused, Bus: b.rec.Bus()})
	must(t, err)
	b.f.settle = 0
	return b
}

// put writes a manifest; a smaller age makes an older file.
func (b *passes) put(name string, age int) {
	b.t.Helper()
	path := filepath.Join(b.dir, name+".yaml")
	must(b.t, os.WriteFile(path, []byte(podYAML(name)), 0o600))
	at := time.Unix(1_700_000_000+int64(age), 0)
	must(b.t, os.Chtimes(path, at, at))
}

func (b *passes) take(s Set) {
	b.set = nil
	for _, p := range s.Pods {
		b.set = append(b.set, strings.TrimSuffix(p.Name, "-n1"))
	}
	slices.Sort(b.set)
}

func (b *passes) list() { b.f.look(trace.SourcePeriod, false, b.take) }

// overflow reports as the kernel does that events were lost.
func (b *passes) overflow() {
	b.f.look(trace.SourceInotify, true, b.take)
}

// written reports written manifests as the kernel does.
func (b *passes) written(names ...string) {
	var events []change
	for _, name := range names {
		events = append(events, change{kind: written, name: filepath.Join(b.dir, name+".yaml")})
	}
	changed := b.f.changed(events)
	b.f.makeRoom(changed, true)
	b.f.pass(trace.SourceInotify, changed, b.take)
}

func (b *passes) has(want ...string) {
	b.t.Helper()
	if d := cmp.Diff(want, b.set); d != "" {
		b.t.Fatalf("pods (-want +got):\n%s", d)
	}
}

// told checks the reports about the directory: true for no room, false for room again.
func (b *passes) told(want ...bool) {
	b.t.Helper()
	var got []bool
	for _, e := range tracetest.Events[trace.SourceError](b.rec) {
		if e.Path != b.dir {
			b.t.Errorf("unexpected error: %+v", e)
		}
		got = append(got, e.Message != "")
	}
	if d := cmp.Diff(want, got); d != "" {
		b.t.Fatalf("told (-want +got):\n%s", d)
	}
}

// Of too many manifests the oldest are used; the others are reported and wait. New manifests get the first free place.
func TestFileHoldsSoMany(t *testing.T) {
	b := newPasses(t, 3, nil)
	for i, name := range []string{"e", "d", "c", "b", "a"} {
		b.put(name, i)
	}
	b.list()
	b.has("c", "d", "e")
	b.told(true)
	b.put("f", 9)
	b.written("f")
	b.list()
	b.has("c", "d", "e")
	must(t, os.Remove(filepath.Join(b.dir, "d.yaml")))
	b.written("d")
	b.has("c", "e")
	b.list()
	b.has("c", "e", "f")
	must(t, os.Remove(filepath.Join(b.dir, "c.yaml")))
	b.written("c")
	b.list()
	b.has("b", "e", "f")
	b.told(true)
	must(t, os.Remove(filepath.Join(b.dir, "a.yaml")))
	b.list()
	b.told(true, false)
}

// Manifests with rejected pods do not block others. A manifest that is only present, not new, does not replace one.
func TestFileRefusedMakeRoom(t *testing.T) {
	refused := map[types.UID]bool{}
	b := newPasses(t, 3, func(uid types.UID) bool { return refused[uid] })
	for i, name := range []string{"a", "b", "c", "d"} {
		b.put(name, i)
	}
	b.list()
	b.has("a", "b", "c")
	for _, name := range []string{"b", "c"} {
		refused[b.f.manifests[filepath.Join(b.dir, name+".yaml")].pods[0].UID] = true
	}
	b.list()
	b.has("a", "b", "c")
	b.put("new", 9)
	b.written("new", "gone")
	b.has("a", "c", "new")
	b.put("newer", 10)
	b.put("newest", 11)
	b.written("newer", "newest")
	b.has("a", "new", "newest")
	b.told(true)
}

// If the kernel lost events, the newest manifests take the places of those with rejected pods, also when the rejection
// comes later.
func TestFileNewestAfterOverflow(t *testing.T) {
	refused := map[types.UID]bool{}
	b := newPasses(t, 2, func(uid types.UID) bool { return refused[uid] })
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		b.put(name, i)
	}
	b.list()
	b.has("a", "b")
	b.put("new", 9)
	b.overflow()
	b.has("a", "b")
	refused[b.f.manifests[filepath.Join(b.dir, "b.yaml")].pods[0].UID] = true
	b.list()
	b.has("a", "new")
	refused[b.f.manifests[filepath.Join(b.dir, "new.yaml")].pods[0].UID] = true
	b.list()
	b.has("a", "new")
	b.told(true)
}

// An agent that starts keeps running pods, however new their manifests are.
func TestFileRunningFirst(t *testing.T) {
	b := newPasses(t, 3, nil)
	b.put("d", 9)
	b.list()
	running := b.f.manifests[filepath.Join(b.dir, "d.yaml")].pods[0].UID
	for i, name := range []string{"a", "b", "c"} {
		b.put(name, i)
	}
	next, err := NewFile(FileConfig{Path: b.dir, Node: "n1", Most: 3, Runs: func(uid types.UID) bool { return uid == running }, Bus: b.rec.Bus()})
	must(t, err)
	b.f = next
	b.list()
	b.has("a", "b", "d")
}

// The items of lists count as pods.
func TestFileOfSoManyPods(t *testing.T) {
	b := newPasses(t, 3, nil)
	b.list()
	must(t, os.WriteFile(filepath.Join(b.dir, "many.yaml"), []byte(podYAML("a")+"---\n"+podYAML("b")+"---\n"+podYAML("c")+"---\n"+podYAML("d")), 0o600))
	b.written("many")
	b.has("a", "b", "c")
	b.f.settled(b.take)
	if got := tracetest.Events[trace.SourceError](b.rec); len(got) != 1 || got[0].Path != filepath.Join(b.dir, "many.yaml") {
		t.Errorf("told: %+v", got)
	}
}

// However many manifests arrive and are rejected, the number of manifests is limited, and the next one is nevertheless
// used.
func TestFileOfManyRefused(t *testing.T) {
	const most = 50
	b := newPasses(t, most, func(types.UID) bool { return true })
	b.list()
	for i := range 20 * most {
		name := fmt.Sprintf("huge-%d", i)
		b.put(name, i)
		b.written(name)
		if len(b.set) > most || len(b.f.manifests) > most || !slices.Contains(b.set, name) {
			t.Fatalf("after %s: %d pods, %d manifests are held: %v", name, len(b.set), len(b.f.manifests), b.set)
		}
	}
	b.told(true)
}
