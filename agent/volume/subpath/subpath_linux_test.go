package subpath

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// place has a volume with a few traps, and a directory outside that must not be reachable.
type place struct {
	*Maker
	t                     *testing.T
	rec                   *tracetest.Recorder
	root, volume, outside string
	pod                   *v1.Pod
}

func newPlace(t *testing.T) *place {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	p := &place{t: t, rec: tracetest.New(t), root: filepath.Join(dir, "kubelet"), outside: filepath.Join(dir, "outside")}
	p.volume = filepath.Join(p.root, "pods/u/volumes/kubernetes.io~empty-dir/data")
	must(t, os.MkdirAll(filepath.Join(p.volume, "dir/deep"), 0o755))
	must(t, os.MkdirAll(p.outside, 0o755))
	must(t, os.WriteFile(filepath.Join(p.outside, "secret"), []byte("secret"), 0o644))
	must(t, os.WriteFile(filepath.Join(p.volume, "dir/file"), []byte("content"), 0o644))
	for link, target := range map[string]string{
		"inside": "dir", "dir/up": "../dir/deep", "absolute": p.outside, "abs-file": filepath.Join(p.outside, "secret"),
		"relative": "../../../../../../outside", "dir/out": "absolute/..", "dangling": p.outside + "/none", "root": "/",
	} {
		must(t, os.Symlink(target, filepath.Join(p.volume, link)))
	}
	p.pod = &v1.Pod{}
	p.pod.UID = "u"
	p.pod.Spec.Containers = []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "data"}, {Name: "data"}}}, {Name: "d", VolumeMounts: []v1.VolumeMount{{Name: "data"}}}}
	p.Maker, err = New(Config{RootDir: p.root, Bus: p.rec.Bus()})
	must(t, err)
	t.Cleanup(func() {
		must(t, p.Clean(context.Background(), "u", ""))
		mounts, err := memdir.Within(dir)
		if err != nil || len(mounts) > 0 {
			t.Errorf("mounts are left: %v, %v", mounts, err)
		}
	})
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *place) prepare(container string, index int, sub string) (string, error) {
	return p.Prepare(p.t.Context(), p.pod, container, index, criconfig.Volume{Name: "data", HostPath: p.volume}, sub)
}

func TestPrepare(t *testing.T) {
	p := newPlace(t)
	for _, tc := range []struct{ sub, shows string }{
		{"dir", "dir"},
		{"dir/deep/", "dir/deep"},
		{"dir/file", "dir/file"},
		{"inside", "dir"},
		{"inside/up", "dir/deep"},
		{"new/dirs", "new/dirs"},
		{"inside/made", "dir/made"},
	} {
		at, err := p.prepare("c", 1, tc.sub)
		must(t, err)
		if want := filepath.Join(p.root, "pods/u/volume-subpaths/data/c/1"); at != want {
			t.Errorf("%s is at %s, want %s", tc.sub, at, want)
		}
		got, err := os.Stat(at)
		must(t, err)
		want, err := os.Stat(filepath.Join(p.volume, tc.shows))
		must(t, err)
		if !os.SameFile(got, want) {
			t.Errorf("%s does not show %s", tc.sub, tc.shows)
		}
	}
	if got, err := os.ReadDir(p.outside); err != nil || len(got) != 1 {
		t.Errorf("something was made outside: %v, %v", got, err)
	}
}

func TestNewDirectoriesHaveTheVolumesMode(t *testing.T) {
	p := newPlace(t)
	must(t, os.Chmod(p.volume, 0o777|os.ModeSetgid))
	_, err := p.prepare("c", 0, "a/b")
	must(t, err)
	for _, dir := range []string{"a", "a/b"} {
		if info, err := os.Stat(filepath.Join(p.volume, dir)); err != nil || info.Mode() != os.ModeDir|os.ModeSetgid|0o777 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}

func TestEscapesAreRefused(t *testing.T) {
	p := newPlace(t)
	for _, sub := range []string{
		"absolute", "absolute/secret", "abs-file", "relative", "relative/new", "dir/out", "dangling", "dangling/new", "root/etc",
		"..", "../data", "dir/../../x", "/etc", "dir/file/x",
	} {
		at, err := p.prepare("c", 0, sub)
		if _, ok := errors.AsType[*Error](err); !ok || at != "" {
			t.Errorf("%s is at %q, error %v", sub, at, err)
			continue
		}
		if !strings.Contains(err.Error(), "subPath") || strings.Contains(err.Error(), p.root) {
			t.Errorf("%s: the message is %q", sub, err)
		}
	}
	if got, err := os.ReadDir(p.outside); err != nil || len(got) != 1 {
		t.Errorf("something was made outside: %v, %v", got, err)
	}
	if n := len(tracetest.Events[trace.Log](p.rec)); n != 14 {
		t.Errorf("%d causes were published, want 14", n)
	}
}

// A pod that continuously replaces a directory by a link never gets out of the volume.
func TestRace(t *testing.T) {
	p := newPlace(t)
	must(t, os.Mkdir(filepath.Join(p.volume, "real"), 0o755))
	must(t, os.WriteFile(filepath.Join(p.volume, "real/secret"), []byte("mine"), 0o644))
	flip := filepath.Join(p.volume, "flip")
	stop := make(chan struct{})
	var attacker sync.WaitGroup
	attacker.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Symlink(p.outside, flip)
			_ = os.Remove(flip)
			_ = os.Rename(filepath.Join(p.volume, "real"), flip)
			_ = os.Rename(flip, filepath.Join(p.volume, "real"))
		}
	})
	shown := 0
	for range 300 {
		at, err := p.prepare("c", 0, "flip/secret")
		if err != nil {
			continue
		}
		shown++
		if data, err := os.ReadFile(at); err == nil && string(data) == "secret" {
			t.Fatal("the pod got out of its volume")
		}
	}
	close(stop)
	attacker.Wait()
	t.Logf("%d of 300 were mounted", shown)
}

func TestReuseAndClean(t *testing.T) {
	p := newPlace(t)
	mounts := func() int {
		got, err := memdir.Within(filepath.Join(p.root, "pods/u/volume-subpaths"))
		must(t, err)
		return len(got)
	}
	for range 2 {
		for _, c := range []string{"c", "d"} {
			_, err := p.prepare(c, 0, "dir")
			must(t, err)
		}
		_, err := p.prepare("c", 1, "dir/file")
		must(t, err)
	}
	if n := mounts(); n != 3 {
		t.Errorf("%d mounts, want 3", n)
	}
	// If the directory was replaced, the next container gets the new one.
	must(t, os.Rename(filepath.Join(p.volume, "dir"), filepath.Join(p.volume, "old")))
	at, err := p.prepare("d", 0, "dir")
	must(t, err)
	if got, err := os.ReadDir(at); err != nil || len(got) != 0 || mounts() != 3 {
		t.Errorf("the new directory shows %v, %v; %d mounts", got, err, mounts())
	}
	must(t, p.Clean(t.Context(), "u", "c"))
	if n := mounts(); n != 1 {
		t.Errorf("%d mounts after c's are gone, want 1", n)
	}
	for range 2 {
		must(t, p.BeforeTearDown(t.Context(), filepath.Join(p.root, "pods/u"), "any"))
	}
	if _, err := os.Stat(filepath.Join(p.root, "pods/u/volume-subpaths")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directories are left: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(p.volume, "old/file")); err != nil || string(data) != "content" {
		t.Errorf("the volume lost its content: %q, %v", data, err)
	}
}

// A directory that is removed while it is listed does not exist: that is no error.
func TestRemovedWhileListed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for !stop.Load() {
			_ = os.Mkdir(dir, 0o700)
			_ = os.Remove(dir)
		}
	})
	defer writer.Wait()
	defer stop.Store(true)
	for range 20_000 {
		if _, err := names(dir); err != nil {
			t.Fatal(err)
		}
	}
}
