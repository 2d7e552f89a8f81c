package fsgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const testGroup = 4321

func asRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// state returns the group and the mode of a file, not following a link.
func state(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	return fmt.Sprintf("%d %o", st.Gid, st.Mode&0o7777)
}

// change runs a walk of a directory whose steps a test sees.
func change(ctx context.Context, t *testing.T, dir string, step func(what, name string)) (*walk, error) {
	t.Helper()
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	w := &walk{ctx: ctx, group: testGroup, files: new(atomic.Int64), step: step}
	return w, w.deep(f)
}

func TestModes(t *testing.T) {
	asRoot(t)
	for _, c := range []struct {
		mode     os.FileMode
		dir      bool
		readOnly bool
		want     string
	}{
		{0o600, false, false, "4321 660"},
		{0o755 | os.ModeSetuid, false, false, "4321 4775"},
		{0o400, false, true, "4321 440"},
		{0o700, true, false, "4321 2770"},
		{0o777 | os.ModeSticky, true, false, "4321 3777"},
		{0o500, true, true, "4321 2550"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		if c.dir {
			must(t, os.Mkdir(path, 0o700))
		} else {
			must(t, os.WriteFile(path, nil, 0o600))
		}
		must(t, os.Chmod(path, c.mode))
		root, err := os.OpenRoot(dir)
		must(t, err)
		failures, err := Apply(root, ".", new(int64(testGroup)), c.readOnly)
		must(t, err, root.Close())
		if got := state(t, path); got != c.want || failures.Number != 0 {
			t.Errorf("%s, %v: %s, want %s, %+v", c.mode, c.readOnly, got, c.want, failures)
		}
	}
}

// What refuses to be changed is one warning, and the rest is changed.
func TestRefusals(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	for i := range 3 {
		fixed := filepath.Join(dir, "a", fmt.Sprint("fixed", i))
		must(t, os.MkdirAll(fixed, 0o755), unix.Mount("tmpfs", fixed, "tmpfs", unix.MS_RDONLY, ""))
		t.Cleanup(func() { must(t, unix.Unmount(fixed, 0)) })
	}
	must(t, os.WriteFile(dir+"/file", nil, 0o600), os.WriteFile(dir+"/a/file", nil, 0o600))
	rec := tracetest.New(t)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1"}, Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{FSGroup: new(int64(testGroup))}}}
	if err := (Change{Dir: dir, Pod: pod, Bus: rec.Bus()}).Apply(t.Context()); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{"": "4321 2775", "a": "4321 2775", "file": "4321 660", "a/file": "4321 660"} {
		if got := state(t, filepath.Join(dir, path)); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
	logs := rec.OfKind("log")
	if len(logs) != 1 {
		t.Fatalf("%d warnings", len(logs))
	}
	if got := logs[0].Event.(*trace.Log).Message; !strings.Contains(got, "3 files could not be changed, the first: a/fixed") || !strings.HasSuffix(got, "set group 4321: read-only file system") {
		t.Error(got)
	}
}

// Containers exchange files and directories meanwhile: nothing outside is changed, and that is no error.
func TestExchanged(t *testing.T) {
	asRoot(t)
	for _, c := range []struct {
		what, name, target string // when target is exchanged
		link               bool
	}{
		{"enter", "sub", "sub", true},
		{"enter", "sub", "sub", false},
		{"change", "file", "sub/file", true},
		{"change", "file", "sub/file", false},
		{"change", "file", "sub", true},
	} {
		dir, outside := t.TempDir(), t.TempDir()
		must(t, os.Mkdir(dir+"/sub", 0o700), os.WriteFile(dir+"/sub/file", nil, 0o600), os.WriteFile(outside+"/file", nil, 0o600), os.Chmod(outside, 0o700))
		before := state(t, outside) + " " + state(t, outside+"/file")
		met := false
		w, err := change(t.Context(), t, dir, func(what, name string) {
			if what != c.what || name != c.name {
				return
			}
			met = true
			must(t, os.RemoveAll(filepath.Join(dir, c.target)))
			if to := outside; c.link {
				if c.target != "sub" {
					to += "/file"
				}
				must(t, os.Symlink(to, filepath.Join(dir, c.target)))
			}
		})
		after := state(t, outside) + " " + state(t, outside+"/file")
		if err != nil || !met || after != before || w.failures.Number > 1 || !c.link && w.failures.Number != 0 {
			t.Errorf("%+v: %v, %v, outside %s, was %s, %+v", c, err, met, after, before, w.failures)
		}
		if got := state(t, dir); !strings.HasPrefix(got, "4321 ") {
			t.Errorf("%+v: the root: %s", c, got)
		}
	}
}

// deepest makes directories within each other, each with a file before and after; it returns the deepest.
func deepest(t *testing.T, dir string, levels, files int) string {
	t.Helper()
	for range levels {
		for i := range files {
			must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), nil, 0o600))
		}
		dir = filepath.Join(dir, "d")
		must(t, os.Mkdir(dir, 0o700))
	}
	return dir
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}

// Few directories are open at a time, however deep the volume is.
func TestDeep(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	deepest(t, dir, 4*maxOpen, 2)
	before, most := openFiles(t), 0
	w, err := change(t.Context(), t, dir, func(string, string) { most = max(most, openFiles(t)-before) })
	if err != nil || w.failures.Number != 0 || w.files.Load() != 4*maxOpen*3+1 {
		t.Errorf("%v, %+v, %d files", err, w.failures, w.files.Load())
	}
	if most > maxOpen+5 {
		t.Errorf("%d files are open", most)
	}
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if got := state(t, path); !strings.HasPrefix(got, "4321 ") {
			t.Errorf("%s: %s", path, got)
		}
		return err
	}))
	if after := openFiles(t); after != before {
		t.Errorf("%d files stay open", after-before)
	}
}

// A directory that was closed for those below it, and is another one later, is left to whoever replaced it.
func TestReplacedWhileClosed(t *testing.T) {
	asRoot(t)
	dir, outside := t.TempDir(), t.TempDir()
	deepest(t, dir, 2*maxOpen, 0)
	must(t, os.MkdirAll(outside+"/d", 0o700), os.WriteFile(outside+"/d/x", nil, 0o600))
	for _, link := range []bool{false, true} {
		depth, before := 0, state(t, outside+"/d")+state(t, outside+"/d/x")
		w, err := change(t.Context(), t, dir, func(what, _ string) {
			if depth++; what == "enter" && depth == 2*maxOpen {
				must(t, os.Rename(dir+"/d/d", filepath.Join(t.TempDir(), "moved")))
				if link {
					must(t, os.Symlink(outside+"/d", dir+"/d/d"))
				} else {
					must(t, os.Mkdir(dir+"/d/d", 0o700))
				}
			}
		})
		if after := state(t, outside+"/d") + state(t, outside+"/d/x"); err != nil || after != before || w.failures.Number != 0 {
			t.Errorf("%v, outside %s, was %s, %+v", err, after, before, w.failures)
		}
		if got := state(t, dir+"/d"); got != "4321 2770" {
			t.Errorf("the directory above: %s", got)
		}
		must(t, os.RemoveAll(dir+"/d/d"))
		deepest(t, dir+"/d", 2*maxOpen, 0)
	}
}

// A directory that is removed after some of its names were read has no more of them: that is no error.
func TestRemovedWhileRead(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/d", 0o700))
	for i := range 2 * some {
		must(t, os.WriteFile(fmt.Sprintf("%s/d/%d", dir, i), nil, 0o600))
	}
	w, err := change(t.Context(), t, dir, func(what, _ string) {
		if what == "change" {
			must(t, os.RemoveAll(dir+"/d"))
		}
	})
	if err != nil || w.failures.Number != 0 {
		t.Errorf("%v, %+v", err, w.failures)
	}
	if got := state(t, dir); got != "4321 2775" {
		t.Errorf("the directory above: %s", got)
	}
}

func TestLimitsOfAWalk(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	deepest(t, dir, 3, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	_, err := change(ctx, t, dir, func(what, _ string) { cancel(ended) })
	if !errors.Is(err, ended) {
		t.Error(err)
	}
	nested := t.TempDir()
	deepest(t, nested, maxDepth+1, 0)
	if _, err := change(t.Context(), t, nested, nil); err == nil || !strings.Contains(err.Error(), "deeper than 1000") {
		t.Error(err)
	}
}

// Kernels without a system call for it change modes through /proc.
func TestModeByPath(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/file", nil, 0o600), os.Symlink("file", dir+"/link"))
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	if err := chmodPath(int(f.Fd()), "file", 0o640); err != nil || state(t, dir+"/file") != "0 640" {
		t.Errorf("%v, %s", err, state(t, dir+"/file"))
	}
	_ = chmodPath(int(f.Fd()), "link", 0o666)
	if got := state(t, dir+"/file"); got != "0 640" {
		t.Errorf("through a link: %s", got)
	}
}

// BenchmarkChange changes 10000 files in 100 directories; walks/op is how many plain walks with Lstat take the same time.
func BenchmarkChange(b *testing.B) {
	asRoot(b)
	dir := b.TempDir()
	for i := range 100 {
		sub := filepath.Join(dir, fmt.Sprint("a", i%10), "b", "c", fmt.Sprint("d", i))
		must(b, os.MkdirAll(sub, 0o700))
		for j := range 100 {
			must(b, os.WriteFile(filepath.Join(sub, fmt.Sprint(j)), nil, 0o600))
		}
	}
	c := Change{Dir: dir, Pod: &v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{FSGroup: new(int64(testGroup))}}}}
	var plain time.Duration
	for b.Loop() {
		must(b, c.Apply(b.Context()))
		b.StopTimer()
		begin := time.Now()
		must(b, filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
			if err == nil {
				_, err = d.Info()
			}
			return err
		}))
		plain += time.Since(begin)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(plain), "walks/op")
}
