package podsource

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// node is a running file source behind a mux, with its updates and events.
type node struct {
	t    *testing.T
	dir  string
	rec  *tracetest.Recorder
	next func() Update
	cur  *trace.Cursor
	said *saidEvents
}

// never is a time that no test reaches.
const never = time.Hour

// start runs a file source over path within dir.
func start(t *testing.T, dir, path string, period, settle time.Duration) *node {
	t.Helper()
	rec := tracetest.New(t)
	f, err := NewFile(FileConfig{Path: filepath.Join(dir, path), Node: "n1", Period: period, Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	said := &saidEvents{}
	m, err := New(Config{Sources: []Source{f}, Bus: rec.Bus(), Events: said})
	if err != nil {
		t.Fatal(err)
	}
	f.settle = settle
	cur := rec.Bus().Subscribe(trace.FromOldest)
	t.Cleanup(cur.Close)
	return &node{t: t, dir: dir, rec: rec, next: run(t, m), cur: cur, said: said}
}

func (n *node) path(name string) string { return filepath.Join(n.dir, name) }

func (n *node) write(name, text string) {
	n.t.Helper()
	must(n.t, os.WriteFile(n.path(name), []byte(text), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect receives that many updates, as "OP name ...".
func (n *node) expect(want ...string) []*v1.Pod {
	n.t.Helper()
	var got []string
	var pods []*v1.Pod
	for range want {
		u := n.next()
		text := string(u.Op)
		for _, p := range u.Pods {
			text += " " + strings.TrimSuffix(p.Name, "-n1")
			pods = append(pods, p)
		}
		got = append(got, text)
	}
	if d := cmp.Diff(want, got); d != "" {
		n.t.Fatalf("updates (-want +got):\n%s", d)
	}
	return pods
}

// expectError waits for the next SourceError.
func (n *node) expectError() trace.SourceError {
	n.t.Helper()
	for {
		recs, _, err := n.cur.Next(n.t.Context(), make([]trace.Record, 0, 1))
		must(n.t, err)
		for _, r := range recs {
			if e, ok := r.Event.(*trace.SourceError); ok {
				return *e
			}
		}
	}
}

func (n *node) noErrors() {
	n.t.Helper()
	for _, e := range tracetest.Events[trace.SourceError](n.rec) {
		n.t.Errorf("unexpected error: %+v", e)
	}
}

func image(tag string) string { return strings.Replace(web, "busybox:1", "busybox:"+tag, 1) }

// broken is the manifest with an image that is a number.
func broken() string { return strings.Replace(web, "busybox:1", "5", 1) }

func TestFileDirectory(t *testing.T) {
	n := start(t, t.TempDir(), "", never, never)
	n.expect("ADD") // an empty source reports as well

	n.write("web.yaml", web)
	first := n.expect("ADD web")[0]
	if first.Annotations[podspec.AnnotationSource] != "file" || first.Annotations[podspec.AnnotationSeen] == "" || !podspec.IsStatic(first) {
		t.Errorf("annotations: %v", first.Annotations)
	}
	n.write("web.yaml", image("2"))
	edited := n.expect("REMOVE web", "ADD web")
	if edited[0].UID != first.UID || edited[1].UID == first.UID {
		t.Errorf("UIDs: %s, then REMOVE %s ADD %s", first.UID, edited[0].UID, edited[1].UID)
	}
	n.write("b.json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"x:1"}]}}`)
	n.expect("ADD b")
	must(t, os.Remove(n.path("web.yaml")))
	n.expect("REMOVE web")
	must(t, os.Rename(n.path("b.json"), filepath.Join(t.TempDir(), "b.json")))
	n.expect("REMOVE b")
	n.noErrors()

	for _, e := range n.rec.OfKind("source") {
		s := e.Event.(*trace.Source)
		if s.Op == trace.OpSet && s.Cause != trace.SourceStart && s.Cause != trace.SourceInotify {
			t.Errorf("SET caused by %s", s.Cause)
		}
		name := strings.TrimSuffix(e.Pod.Name, "-n1")
		if s.Op != trace.OpSet && strings.TrimSuffix(filepath.Base(s.Path), filepath.Ext(s.Path)) != name {
			t.Errorf("%s of pod %s has path %q", s.Op, name, s.Path)
		}
	}
}

func TestFileStart(t *testing.T) {
	dir := t.TempDir()
	n := &node{t: t, dir: dir}
	n.write("b.yaml", podYAML("b"))
	n.write("a.yaml", podYAML("a")+"---\n"+podYAML("c"))
	n.write(".hidden.yaml", podYAML("hidden"))
	n.write("b.yaml~", podYAML("backup"))
	n.write("#b.yaml#", podYAML("autosave"))
	n = start(t, dir, "", never, never)
	if u := n.next(); describe(u) != fmt.Sprintf("ADD file a-n1/%s c-n1/%s b-n1/%s all", u.Pods[0].UID, u.Pods[1].UID, u.Pods[2].UID) {
		t.Errorf("first update: %s", describe(u))
	}
	n.noErrors()
}

func TestFileTurnsBad(t *testing.T) {
	n := start(t, t.TempDir(), "", never, time.Millisecond)
	n.expect("ADD")
	n.write("web.yaml", web)
	n.expect("ADD web")
	n.write("other.yaml", podYAML("other"))
	n.expect("ADD other")

	n.write("web.yaml", broken())
	want := trace.SourceError{
		Source: trace.SourceFile, Path: n.path("web.yaml"), Line: 8, Field: "spec.containers[0].image", Message: "is a number: want a string (put it in quotes)", Kept: true,
	}
	if d := cmp.Diff(want, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// Its pod is still in use: otherwise REMOVE web would come first.
	n.write("third.yaml", podYAML("third"))
	n.expect("ADD third")
	// Valid again and unchanged: nothing happens to the pod.
	n.write("web.yaml", web)
	over := trace.SourceError{Source: trace.SourceFile, Path: n.path("web.yaml")}
	if d := cmp.Diff(over, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	must(t, os.Remove(n.path("third.yaml")))
	n.expect("REMOVE third")
	// The same error is reported again, and removing the file removes the pod.
	n.write("web.yaml", broken())
	if d := cmp.Diff(want, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	must(t, os.Remove(n.path("web.yaml")))
	n.expect("REMOVE web")
	over.Gone = true
	if d := cmp.Diff(over, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if errs := tracetest.Events[trace.SourceError](n.rec); len(errs) != 4 {
		t.Errorf("%d errors, want 4: %+v", len(errs), errs)
	}
}

func TestFileBadFromTheStart(t *testing.T) {
	dir := t.TempDir()
	n := &node{t: t, dir: dir}
	n.write("bad.yaml", podYAML("good-half")+"---\nkind: Pod\n")
	n.write("web.yaml", web)
	n = start(t, dir, "", never, time.Millisecond)
	// There is no earlier version, so the file's valid pods are used.
	n.expect("ADD good-half web")
	e := n.expectError()
	if e.Kept || e.Line != 10 || e.Field != "apiVersion" {
		t.Errorf("error: %+v", e)
	}
}

func TestFileWrittenInSteps(t *testing.T) {
	n := start(t, t.TempDir(), "", never, never)
	n.expect("ADD")
	half := len(web) - 10
	// Open for writing: half a manifest is not read before it is closed.
	file, err := os.Create(n.path("web.yaml"))
	must(t, err)
	_, err = file.WriteString(web[:half])
	must(t, err)
	n.write("other.yaml", podYAML("other"))
	n.expect("ADD other")
	_, err = file.WriteString(web[half:])
	must(t, err)
	must(t, file.Close())
	n.expect("ADD web")
	// Closed in between: it has some time to become valid before it counts as invalid.
	n.write("steps.yaml", podYAML("steps")[:half])
	n.write("steps.yaml", podYAML("steps"))
	n.expect("ADD steps")
	// Truncated first, as by a shell's redirection.
	n.write("web.yaml", "")
	n.write("web.yaml", image("2"))
	n.expect("REMOVE web", "ADD web")
	n.noErrors()
}

func TestFileEditors(t *testing.T) {
	n := start(t, t.TempDir(), "", never, never)
	n.expect("ADD")
	n.write("web.yaml", web)
	n.expect("ADD web")

	// vim: a backup by rename, then the file again. Saving it unchanged does not affect the pod.
	must(t, os.Rename(n.path("web.yaml"), n.path("web.yaml~")))
	n.write("web.yaml", web)
	must(t, os.Remove(n.path("web.yaml~")))
	n.write("marker.yaml", podYAML("marker"))
	n.expect("ADD marker")
	// An atomic rename over it, unchanged: the pod is not affected either.
	n.write(".web.yaml.tmp", web)
	must(t, os.Rename(n.path(".web.yaml.tmp"), n.path("web.yaml")))
	n.write("sedAbC", web)
	must(t, os.Rename(n.path("sedAbC"), n.path("web.yaml")))
	n.write("marker2.yaml", podYAML("marker2"))
	n.expect("ADD marker2")
	// An atomic rename over it.
	n.write(".web.yaml.tmp", image("2"))
	must(t, os.Rename(n.path(".web.yaml.tmp"), n.path("web.yaml")))
	n.expect("REMOVE web", "ADD web")
	// sed -i: a temporary file with an ordinary name. The running pod's file keeps the name.
	n.write("sedAbC", image("3"))
	must(t, os.Rename(n.path("sedAbC"), n.path("web.yaml")))
	n.expect("REMOVE web", "ADD web")
	n.noErrors()
}

// A manifest that was removed or renamed away is a new one when it exists again, even if nobody could see that it was missing: its pod
// is removed and added, as upstream.
func TestFileRemovedAndRestored(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "web.yaml")
	for name, c := range map[string]struct {
		path    string
		restore func(n *node)
	}{
		"written again": {"", func(n *node) {
			must(t, os.Remove(n.path("web.yaml")))
			n.write("web.yaml", web)
		}},
		"written again, one manifest": {"web.yaml", func(n *node) {
			must(t, os.Remove(n.path("web.yaml")))
			n.write("web.yaml", web)
		}},
		"moved away and back": {"", func(n *node) {
			must(t, os.Rename(n.path("web.yaml"), elsewhere))
			must(t, os.Rename(elsewhere, n.path("web.yaml")))
		}},
		"linked again": {"", func(n *node) {
			must(t, os.Link(n.path("web.yaml"), n.path(".web")))
			must(t, os.Remove(n.path("web.yaml")))
			must(t, os.Link(n.path(".web"), n.path("web.yaml")))
		}},
		"twice": {"", func(n *node) {
			must(t, os.Remove(n.path("web.yaml")))
			n.write("web.yaml", image("2"))
			must(t, os.Remove(n.path("web.yaml")))
			n.write("web.yaml", web)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n := &node{t: t, dir: dir}
			n.write("web.yaml", web)
			n = start(t, dir, c.path, never, never)
			first := n.expect("ADD web")[0]
			c.restore(n)
			pods := n.expect("REMOVE web", "ADD web")
			if name == "twice" && pods[1].UID != first.UID { // the second version was seen, too
				pods = n.expect("REMOVE web", "ADD web")
			}
			if last := pods[1]; last.UID != first.UID {
				t.Errorf("UID %s, want that of the same manifest, %s", last.UID, first.UID)
			}
			n.noErrors()
		})
	}
}

// Between its removal and its end, a manifest that is written again is not read: half of it may be valid.
func TestFileRemovedAndHalfWritten(t *testing.T) {
	n := start(t, t.TempDir(), "", never, never)
	n.expect("ADD")
	n.write("web.yaml", web)
	n.expect("ADD web")
	must(t, os.Remove(n.path("web.yaml")))
	file, err := os.Create(n.path("web.yaml"))
	must(t, err)
	_, err = file.WriteString(web[:len(web)/2])
	must(t, err)
	n.expect("REMOVE web")
	n.write("marker.yaml", podYAML("marker"))
	n.expect("ADD marker")
	_, err = file.WriteString(web[len(web)/2:])
	must(t, err)
	must(t, file.Close())
	n.expect("ADD web")
	n.noErrors()
}

// A rename to a backup's name without a new file removes the pod in the end.
func TestFileBackupStays(t *testing.T) {
	n := start(t, t.TempDir(), "", never, time.Millisecond)
	n.expect("ADD")
	n.write("web.yaml", web)
	n.expect("ADD web")
	must(t, os.Rename(n.path("web.yaml"), n.path("web.yaml~")))
	n.expect("REMOVE web")
	n.noErrors()
	told := tracetest.Events[trace.Source](n.rec)
	if !slices.ContainsFunc(told, func(s trace.Source) bool { return s.Op == trace.OpSet && s.Pods == 0 && s.Cause == trace.SourceSettled }) {
		t.Errorf("no SET of nothing, once the time to settle was over: %+v", told)
	}
}

func TestFileDuplicates(t *testing.T) {
	n := start(t, t.TempDir(), "", never, time.Millisecond)
	n.expect("ADD")
	n.write("b.yaml", web)
	first := n.expect("ADD web")[0]
	n.write("a.yaml", image("2"))
	want := trace.SourceError{
		Source: trace.SourceFile, Path: n.path("a.yaml"), Field: "metadata.name",
		Message: fmt.Sprintf("pod default/web-n1 is already defined in %s; this one is ignored until that is removed", n.path("b.yaml")),
	}
	if d := cmp.Diff(want, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if all := n.said.take(); len(all) != 1 || !strings.Contains(all[0], `Warning FailedValidation: Error validating pod web-n1_default(`) ||
		!strings.Contains(all[0], `) from file due to duplicate pod name "web-n1", ignoring`) || strings.Contains(all[0], string(first.UID)) {
		t.Errorf("Events %q", all)
	}
	must(t, os.Remove(n.path("b.yaml")))
	if pods := n.expect("REMOVE web", "ADD web"); pods[0].UID != first.UID || pods[1].Spec.Containers[0].Image != "busybox:2" {
		t.Errorf("the first to have the name was not the one that kept it")
	}
	if d := cmp.Diff(trace.SourceError{Source: trace.SourceFile, Path: n.path("a.yaml")}, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if errs := tracetest.Events[trace.SourceError](n.rec); len(errs) != 2 {
		t.Errorf("%d errors, want 2: %+v", len(errs), errs)
	}
}

// An invalid manifest whose pod is used is still reported as invalid.
func TestFileBrokenDuplicate(t *testing.T) {
	n := start(t, t.TempDir(), "", never, time.Millisecond)
	n.expect("ADD")
	n.write("b.yaml", web)
	n.expect("ADD web")
	n.write("a.yaml", image("2"))
	if e := n.expectError(); e.Field != "metadata.name" {
		t.Errorf("not told to be a duplicate: %+v", e)
	}
	n.write("a.yaml", broken())
	wrong := n.expectError()
	if wrong.Field != "spec.containers[0].image" || !wrong.Kept {
		t.Errorf("not told to be broken: %+v", wrong)
	}
	if e := n.expectError(); e.Field != "metadata.name" {
		t.Errorf("not told to be a duplicate: %+v", e)
	}
	must(t, os.Remove(n.path("b.yaml")))
	n.expect("REMOVE web", "ADD web")
	if d := cmp.Diff(wrong, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestFileDirectoryComesAndGoes(t *testing.T) {
	n := start(t, t.TempDir(), "a/b/manifests", never, never)
	n.expect("ADD")
	dir := n.path("a/b/manifests")
	for range 3 {
		must(t, os.MkdirAll(dir, 0o700))
		n.write("a/b/manifests/web.yaml", web)
		n.expect("ADD web")
		must(t, os.RemoveAll(n.path("a")))
		n.expect("REMOVE web")
	}
	// A complete directory that is renamed to path.
	must(t, os.MkdirAll(n.path("new/manifests"), 0o700))
	n.write("new/manifests/web.yaml", web)
	must(t, os.MkdirAll(n.path("a"), 0o700))
	must(t, os.Rename(n.path("new"), n.path("a/b")))
	n.expect("ADD web")
	n.noErrors()
}

// A directory or a manifest that is removed between the look at it and its read does not exist: that is no error.
func TestFileRemovedMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "manifests")
	path := filepath.Join(dir, "web.yaml")
	f, err := NewFile(FileConfig{Path: dir, Node: "n1"})
	must(t, err)
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for !stop.Load() {
			_ = os.Mkdir(dir, 0o700)
			_ = os.WriteFile(path, []byte(web), 0o600)
			_ = os.Remove(path)
			_ = os.Remove(dir)
		}
	})
	defer writer.Wait()
	defer stop.Store(true)
	for range 20_000 {
		if _, err := f.entries(); err != nil {
			t.Fatalf("the directory: %v", err)
		}
		if v := look(path, nil, true, time.Now()); v != nil && v.problem != nil {
			t.Fatalf("the manifest: %+v", v.problem)
		}
	}
}

func TestFileSingle(t *testing.T) {
	n := start(t, t.TempDir(), "pod.yaml", never, never)
	n.expect("ADD")
	n.write("pod.yaml", web)
	n.expect("ADD web")
	n.write("unrelated.yaml", podYAML("unrelated"))
	n.write("pod.yaml", image("2"))
	n.expect("REMOVE web", "ADD web")
	must(t, os.Remove(n.path("pod.yaml")))
	n.expect("REMOVE web")
	must(t, os.Mkdir(n.path("pod.yaml"), 0o700))
	n.write("pod.yaml/in.yaml", podYAML("in"))
	n.expect("ADD in")
	n.noErrors()
}

// Kubernetes' atomic writers put files behind two symlinks and swap the inner one.
func TestFileAtomicWriter(t *testing.T) {
	dir := t.TempDir()
	n := &node{t: t, dir: dir}
	must(t, os.MkdirAll(n.path("..1"), 0o700))
	must(t, os.MkdirAll(n.path("..2"), 0o700))
	n.write("..1/web.yaml", web)
	n.write("..2/web.yaml", image("2"))
	must(t, os.Symlink("..1", n.path("..data")))
	must(t, os.Symlink("..data/web.yaml", n.path("web.yaml")))
	n = start(t, dir, "", never, never)
	n.expect("ADD web")
	must(t, os.Symlink("..2", n.path("..data_tmp")))
	must(t, os.Rename(n.path("..data_tmp"), n.path("..data")))
	if p := n.expect("REMOVE web", "ADD web")[1]; p.Spec.Containers[0].Image != "busybox:2" {
		t.Errorf("image %s", p.Spec.Containers[0].Image)
	}
	// A new link, symbolic or hard, is a complete file at once.
	elsewhere := filepath.Join(t.TempDir(), "x.yaml")
	must(t, os.WriteFile(elsewhere, []byte(podYAML("linked")), 0o600))
	must(t, os.Symlink(elsewhere, n.path("linked.yaml")))
	n.expect("ADD linked")
	n.noErrors()
}

// Without an event, for example for the target of a symlink, the periodic read finds the change.
func TestFilePeriod(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "web.yaml")
	must(t, os.WriteFile(elsewhere, []byte(web), 0o600))
	must(t, os.Symlink(elsewhere, filepath.Join(dir, "web.yaml")))
	n := start(t, dir, "", 10*time.Millisecond, time.Millisecond)
	n.expect("ADD web")
	must(t, os.WriteFile(elsewhere, []byte(image("2")), 0o600))
	n.expect("REMOVE web", "ADD web")
	must(t, os.Remove(elsewhere))
	n.expect("REMOVE web")
	n.noErrors()
	var causes []string
	for _, s := range tracetest.Events[trace.Source](n.rec) {
		if s.Op == trace.OpSet && s.Pods == 0 {
			causes = append(causes, string(s.Cause))
		}
	}
	if len(causes) == 0 || causes[len(causes)-1] != "period" {
		t.Errorf("causes of the SETs: %v", causes)
	}
}

func TestFileUnreadable(t *testing.T) {
	n := start(t, t.TempDir(), "", never, time.Millisecond)
	n.expect("ADD")
	n.write("web.yaml", web)
	n.expect("ADD web")
	must(t, os.Mkdir(n.path("sub"), 0o700))
	if e := n.expectError(); e.Path != n.path("sub") || e.Message != "is a directory: manifests are read from one level only" {
		t.Errorf("error: %+v", e)
	}
	must(t, os.Symlink(n.path("sub"), n.path("link")))
	if e := n.expectError(); e.Path != n.path("link") || e.Message != "is a directory: manifests are read from one level only" {
		t.Errorf("error: %+v", e)
	}
	must(t, os.Truncate(n.path("web.yaml"), maxManifest+1))
	file, err := os.OpenFile(n.path("web.yaml"), os.O_WRONLY, 0)
	must(t, err)
	must(t, file.Close())
	if e := n.expectError(); e.Message != "is 10485761 bytes long: want at most 10485760" || !e.Kept {
		t.Errorf("error: %+v", e)
	}
}

// A path that cannot be read is an unknown set, not an empty one: nothing is delivered.
func TestFilePathUnreadable(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600))
	n := start(t, dir, "x/manifests", never, never)
	want := trace.SourceError{Source: trace.SourceFile, Path: n.path("x/manifests"), Message: "cannot be read: not a directory"}
	if d := cmp.Diff(want, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if sets := tracetest.Events[trace.Source](n.rec); len(sets) > 0 {
		t.Errorf("delivered: %+v", sets)
	}
	must(t, os.Remove(n.path("x")))
	n.expect("ADD")
	if d := cmp.Diff(trace.SourceError{Source: trace.SourceFile, Path: n.path("x/manifests")}, n.expectError()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	must(t, os.MkdirAll(n.path("x/manifests"), 0o700))
	n.write("x/manifests/web.yaml", web)
	n.expect("ADD web")
}

// Thirty manifests at once lose nothing and deliver each pod once.
func TestFileBurst(t *testing.T) {
	n := start(t, t.TempDir(), "", never, never)
	n.expect("ADD")
	want := make(map[string]bool)
	for i := range 30 {
		name := fmt.Sprintf("web-%d", i)
		n.write(name+".yaml", podYAML(name))
		want[name+"-n1"] = true
	}
	for len(want) > 0 {
		u := n.next()
		for _, p := range u.Pods {
			if u.Op != OpAdd || !want[p.Name] {
				t.Fatalf("unexpected %s", describe(u))
			}
			delete(want, p.Name)
		}
	}
	n.noErrors()
}

func TestNewFile(t *testing.T) {
	for _, c := range []FileConfig{{Node: "n"}, {Path: "/x"}, {Path: "/x", Node: "n", Period: -1}} {
		if _, err := NewFile(c); err == nil {
			t.Errorf("NewFile(%+v) gave no error", c)
		}
	}
	for in, want := range map[string]string{"/x/": "/x", "/": "/", "m//a/": "m/a"} {
		if f, err := NewFile(FileConfig{Path: in, Node: "n"}); err != nil || f.path != want {
			t.Errorf("path %q: %+v, %v", in, f, err)
		}
	}
}

// BenchmarkFile measures the time from before a manifest is written until its ADD.
func BenchmarkFile(b *testing.B) {
	dir := b.TempDir()
	f, err := NewFile(FileConfig{Path: dir, Node: "n1"})
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(Config{Sources: []Source{f}})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- m.Run(b.Context()) }()
	b.Cleanup(func() { <-done })
	<-m.Updates()
	path := filepath.Join(dir, "web.yaml")
	for i := 0; b.Loop(); i++ {
		if err := os.WriteFile(path, []byte(image(fmt.Sprint(i))), 0o600); err != nil {
			b.Fatal(err)
		}
		for u := range m.Updates() {
			if u.Op == OpAdd {
				break
			}
		}
	}
}

// Fields that are unknown or given twice are warnings: the pod is used, also after a version that is broken.
func TestFileUnusedFields(t *testing.T) {
	n := start(t, t.TempDir(), "", never, time.Millisecond)
	n.expect("ADD")
	n.write("web.yaml", web+"  contaners: []\n  contaners: []\n")
	n.expect("ADD web")
	warnings := []string{
		n.path("web.yaml") + `:10: key "contaners" already set in map: the last value counts`,
		n.path("web.yaml") + ":9: spec.contaners: unknown field: ignored",
	}
	n.expectWarnings(warnings...)
	n.noErrors()
	n.write("web.yaml", broken())
	if e := n.expectError(); !e.Kept {
		t.Errorf("%+v", e)
	}
	n.write("web.yaml", image("2")+"  contaners: []\n")
	n.expect("REMOVE web", "ADD web")
	if e := n.expectError(); e.Message != "" {
		t.Errorf("the manifest is not valid again: %+v", e)
	}
	n.expectWarnings(append(warnings, n.path("web.yaml")+":9: spec.contaners: unknown field: ignored")...)
}

// expectWarnings waits for so many warnings, and compares all there are.
func (n *node) expectWarnings(want ...string) {
	n.t.Helper()
	var got []string
	for end := time.Now().Add(20 * time.Second); len(got) < len(want) && time.Now().Before(end); time.Sleep(time.Millisecond) { //nolint:forbidigo // until it is published
		got = nil
		for _, l := range tracetest.Events[trace.Log](n.rec) {
			got = append(got, l.Message)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		n.t.Errorf("warnings (-want +got):\n%s", d)
	}
}
