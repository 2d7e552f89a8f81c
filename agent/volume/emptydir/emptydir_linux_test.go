package emptydir_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/emptydir"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

func newPlugin(t *testing.T) *emptydir.Plugin {
	t.Helper()
	memory, err := memdir.New(memdir.Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := emptydir.New(emptydir.Config{Memory: memory, Allocatable: list("memory", "1Gi")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func list(name, quantity string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceName(name): resource.MustParse(quantity)}
}

func spec(t *testing.T, src v1.EmptyDirVolumeSource) volume.Spec {
	root := t.TempDir()
	return volume.Spec{
		Pod: &v1.Pod{}, Volume: &v1.Volume{VolumeSource: v1.VolumeSource{EmptyDir: &src}},
		Place: volume.Place{Dir: filepath.Join(root, "volumes/x/data"), Meta: filepath.Join(root, "plugins/x/data")},
	}
}

func setUp(t *testing.T, p *emptydir.Plugin, s volume.Spec) {
	t.Helper()
	got, err := p.SetUp(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if got.HostPath != s.Dir || got.ReadOnly {
		t.Errorf("%+v", got)
	}
	t.Cleanup(func() {
		if err := p.TearDown(t.Context(), s.Place); err != nil {
			t.Error(err)
		}
	})
}

func stat(t *testing.T, path string) (mode os.FileMode, gid uint32) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode(), info.Sys().(*syscall.Stat_t).Gid
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func TestDiskKeepsWhatIsThere(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	p, s := newPlugin(t), spec(t, v1.EmptyDirVolumeSource{})
	setUp(t, p, s)
	if mode, _ := stat(t, s.Dir); mode.Perm() != 0o777 {
		t.Errorf("mode %v", mode)
	}
	if err := os.WriteFile(s.Dir+"/kept", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// Changes by its containers are kept.
	if err := os.Chmod(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	setUp(t, p, s)
	if mode, _ := stat(t, s.Dir); mode.Perm() != 0o700 {
		t.Errorf("mode %v after the second set up", mode)
	}
	stat(t, s.Dir+"/kept")
	if err := p.TearDown(t.Context(), s.Place); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{s.Dir, s.Meta} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// counter is a Counter that notes what it is given.
type counter struct {
	t    *testing.T
	dirs []string
}

// Assign implements emptydir.Counter.
func (c *counter) Assign(dir string) bool {
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		c.t.Errorf("%s has %v, %v", dir, names, err)
	}
	c.dirs = append(c.dirs, dir)
	return false
}

// The file system counts what is in volumes on disk of pods with users of their own, from their beginning.
func TestCounted(t *testing.T) {
	memory, err := memdir.New(memdir.Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{t: t}
	p, err := emptydir.New(emptydir.Config{Memory: memory, Counter: c})
	if err != nil {
		t.Fatal(err)
	}
	own, shared, ready := spec(t, v1.EmptyDirVolumeSource{}), spec(t, v1.EmptyDirVolumeSource{}), spec(t, v1.EmptyDirVolumeSource{})
	own.Pod.Spec.HostUsers = new(false)
	setUp(t, p, ready) // by an agent that did not count
	ready.Pod.Spec.HostUsers = new(false)
	for _, s := range []volume.Spec{own, shared, ready, own} {
		setUp(t, p, s)
	}
	if !slices.Equal(c.dirs, []string{own.Dir}) {
		t.Errorf("counted are %q", c.dirs)
	}
}

func TestFSGroup(t *testing.T) {
	needRoot(t)
	for _, medium := range []v1.StorageMedium{v1.StorageMediumDefault, v1.StorageMediumMemory} {
		p, s := newPlugin(t), spec(t, v1.EmptyDirVolumeSource{Medium: medium})
		s.Pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4321))}
		setUp(t, p, s)
		if mode, gid := stat(t, s.Dir); gid != 4321 || mode&os.ModeSetgid == 0 || mode.Perm() != 0o777 {
			t.Errorf("%q: %v group %d", medium, mode, gid)
		}
	}
}

func TestMemory(t *testing.T) {
	needRoot(t)
	limited := func(q string) *v1.Pod {
		pod := &v1.Pod{}
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Limits: list("memory", q)}}}
		return pod
	}
	for _, tc := range []struct {
		name string
		size *resource.Quantity
		pod  *v1.Pod
		want int64
	}{
		{"node", nil, &v1.Pod{}, 1 << 30},
		{"pod", nil, limited("64Mi"), 64 << 20},
		{"pod has more than the node", nil, limited("64Gi"), 1 << 30},
		{"volume", new(resource.MustParse("8Mi")), limited("64Mi"), 8 << 20},
		{"volume has more than the pod", new(resource.MustParse("80Mi")), limited("64Mi"), 64 << 20},
		{"zero is no limit", new(resource.MustParse("0")), limited("64Mi"), 64 << 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, s := newPlugin(t), spec(t, v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: tc.size})
			s.Pod = tc.pod
			setUp(t, p, s)
			var fs unix.Statfs_t
			if err := unix.Statfs(s.Dir, &fs); err != nil {
				t.Fatal(err)
			}
			if size := int64(fs.Blocks) * fs.Bsize; fs.Type != unix.TMPFS_MAGIC || size != tc.want {
				t.Errorf("type %x, %d bytes, want a tmpfs of %d", fs.Type, size, tc.want)
			}
			if err := os.WriteFile(s.Dir+"/kept", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			setUp(t, p, s)
			stat(t, s.Dir+"/kept") // nothing was mounted over it
			// Also without the mark, for example after a crash before it was written.
			if err := os.RemoveAll(s.Meta); err != nil {
				t.Fatal(err)
			}
			setUp(t, p, s)
			stat(t, s.Dir+"/kept")
		})
	}
}

func TestHugePages(t *testing.T) {
	needRoot(t)
	if _, err := os.Stat("/sys/kernel/mm/hugepages/hugepages-2048kB"); err != nil {
		t.Skip(err)
	}
	p := newPlugin(t)
	want := func(medium v1.StorageMedium, sizes ...string) volume.Spec {
		s := spec(t, v1.EmptyDirVolumeSource{Medium: medium})
		s.Pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}}}}
		for _, size := range sizes {
			s.Pod.Spec.Containers[0].Resources.Requests[v1.ResourceName("hugepages-"+size)] = resource.MustParse("1Gi")
		}
		return s
	}
	for _, s := range []volume.Spec{want("HugePages", "2Mi"), want("HugePages-2Mi", "2Mi", "1Gi")} {
		setUp(t, p, s)
		var fs unix.Statfs_t
		if err := unix.Statfs(s.Dir, &fs); err != nil {
			t.Fatal(err)
		}
		if int64(fs.Type) != unix.HUGETLBFS_MAGIC || fs.Bsize != 2<<20 {
			t.Errorf("type %x, pages of %d", fs.Type, fs.Bsize)
		}
	}
	for _, tc := range []struct {
		s    volume.Spec
		want string
	}{
		{want("HugePages"), "no container requests"},
		{want("HugePages-1Gi", "2Mi"), "no container requests"},
		{want("HugePages", "2Mi", "1Gi"), "several sizes"},
		{want("HugePages-lots", "2Mi"), "page size must be a quantity"},
	} {
		if _, err := p.Version(tc.s); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q in it", err, tc.want)
		}
	}
}

func TestTrapsAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(outside+"/precious", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, s := newPlugin(t), spec(t, v1.EmptyDirVolumeSource{})
	s.Pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4321))}
	// A link in a volume that was not finished.
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, s.Dir+"/link"); err != nil {
		t.Fatal(err)
	}
	setUp(t, p, s)
	if mode, gid := stat(t, outside+"/precious"); mode.Perm() != 0o600 || gid == 4321 {
		t.Errorf("outside: %v group %d", mode, gid)
	}
	if err := p.TearDown(t.Context(), s.Place); err != nil {
		t.Fatal(err)
	}
	stat(t, outside+"/precious")
	// A link in place of the volume.
	if err := os.Symlink(outside, s.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := p.SetUp(t.Context(), s); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("error %v", err)
	}
	if err := p.TearDown(t.Context(), s.Place); err != nil {
		t.Fatal(err)
	}
	stat(t, outside+"/precious")
}

// A volume in memory gets another size while it is mounted, at most the node's memory; a volume on disk has none.
func TestResize(t *testing.T) {
	needRoot(t)
	p, s := newPlugin(t), spec(t, v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: new(resource.MustParse("1Mi"))})
	if err := p.Resize(s); err == nil {
		t.Error("a volume that is not mounted is resized")
	}
	setUp(t, p, s)
	for limit, want := range map[string]int64{"2Mi": 2 << 20, "512Ki": 512 << 10, "4Gi": 1 << 30} {
		s.Volume.EmptyDir.SizeLimit = new(resource.MustParse(limit))
		if err := p.Resize(s); err != nil {
			t.Fatal(err)
		}
		var st unix.Statfs_t
		if err := unix.Statfs(s.Dir, &st); err != nil {
			t.Fatal(err)
		}
		if got := int64(st.Blocks) * st.Bsize; got != want {
			t.Errorf("limit %s: size %d, want %d", limit, got, want)
		}
	}
	if err := p.Resize(spec(t, v1.EmptyDirVolumeSource{})); err == nil {
		t.Error("a volume on disk is resized")
	}
}

// The mode of the spec is that of a directory on disk, with the feature gate; an fsGroup adds its bits.
func TestMode(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	memory, err := memdir.New(memdir.Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	group := &v1.PodSecurityContext{FSGroup: new(int64(4321))}
	for _, tc := range []struct {
		name   string
		gate   bool
		source v1.EmptyDirVolumeSource
		pod    *v1.PodSecurityContext
		want   os.FileMode
	}{
		{"no gate", false, v1.EmptyDirVolumeSource{Mode: new(int32(0o750))}, nil, 0o777},
		{"no mode", true, v1.EmptyDirVolumeSource{}, nil, 0o777},
		{"mode", true, v1.EmptyDirVolumeSource{Mode: new(int32(0o750))}, nil, 0o750},
		{"nothing", true, v1.EmptyDirVolumeSource{Mode: new(int32(0))}, nil, 0},
		{"sticky", true, v1.EmptyDirVolumeSource{Mode: new(int32(0o1777))}, nil, 0o777 | os.ModeSticky},
		{"group", true, v1.EmptyDirVolumeSource{Mode: new(int32(0o1700))}, group, 0o770 | os.ModeSticky | os.ModeSetgid},
		{"memory", true, v1.EmptyDirVolumeSource{Mode: new(int32(0o750)), Medium: v1.StorageMediumMemory}, nil, 0o777 | os.ModeSticky},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.pod != nil || tc.source.Medium != "" {
				needRoot(t)
			}
			p, err := emptydir.New(emptydir.Config{Memory: memory, Modes: tc.gate})
			if err != nil {
				t.Fatal(err)
			}
			s := spec(t, tc.source)
			s.Pod.Spec.SecurityContext = tc.pod
			setUp(t, p, s)
			if mode, _ := stat(t, s.Dir); mode&^os.ModeDir != tc.want {
				t.Errorf("mode %v, want %v", mode, tc.want)
			}
		})
	}
}
