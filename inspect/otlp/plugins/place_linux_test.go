package plugins

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// must fails the test for an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// comesAndGoes watches a directory that does not exist yet.
type comesAndGoes struct {
	t       *testing.T
	base    string
	dir     string // base/cni/bin
	runs    chan Exec
	mu      sync.Mutex
	missing []string
}

func newComesAndGoes(t *testing.T) *comesAndGoes {
	base := t.TempDir()
	c := &comesAndGoes{t: t, base: base, dir: filepath.Join(base, "cni", "bin"), runs: make(chan Exec, 64)}
	w, err := New(Config{Dirs: []string{c.dir}, Done: func(e Exec) { c.runs <- e }, Missing: func(dir string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.missing = append(c.missing, dir)
	}})
	must(t, err)
	start(t, w)
	c.forget()
	return c
}

// forget forgets what was told to be missing.
func (c *comesAndGoes) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.missing = nil
}

// TestNobodyIsWoken by what others make in directories far above, also once the directory has come late: the kernel does not queue it.
func TestNobodyIsWoken(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "cni", "bin")
	p, err := newPlaces([]string{dir})
	must(t, err)
	defer func() { must(t, p.file.Close()) }()
	pending := func() (n int) {
		must(t, p.raw.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), make([]byte, 4096))
			return true
		}))
		return n
	}
	must(t, p.arm())
	must(t, os.MkdirAll(dir, 0o750))
	if pending() <= 0 {
		t.Error("nothing of the directory that came")
	}
	must(t, p.arm())
	must(t, os.Mkdir(filepath.Join(base, "other"), 0o750))
	must(t, os.Remove(filepath.Join(base, "other")))
	if n := pending(); n > 0 {
		t.Errorf("%d bytes of events of others", n)
	}
	must(t, os.Rename(filepath.Join(base, "cni"), filepath.Join(base, "gone")))
	if pending() <= 0 {
		t.Error("nothing of the directory that went")
	}
}

// plugin puts a plugin into a directory.
func (c *comesAndGoes) plugin(dir, name string) string {
	c.t.Helper()
	must(c.t, os.MkdirAll(dir, 0o755))
	return copyOf(c.t, "sleep", dir, name)
}

// run runs a program as a plugin.
func (c *comesAndGoes) run(ctx context.Context, path string) {
	c.t.Helper()
	cmd := exec.CommandContext(ctx, path, "0.02")
	cmd.Env = []string{"CNI_COMMAND=ADD", "CNI_CONTAINERID=" + filepath.Base(path)}
	must(c.t, cmd.Run())
}

// sees runs a plugin until that is seen.
func (c *comesAndGoes) sees(path string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for {
		c.run(ctx, path)
		select {
		case e := <-c.runs:
			if e.Plugin == filepath.Base(path) {
				return
			}
		case <-time.After(50 * time.Millisecond): // the mark comes a little after the directory
		}
	}
}

// loses waits until the directory is told to be missing.
func (c *comesAndGoes) loses() {
	c.t.Helper()
	for range 2000 {
		c.mu.Lock()
		gone := slices.Contains(c.missing, c.dir)
		c.mu.Unlock()
		if gone {
			c.forget()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("nobody tells that %s is not there", c.dir)
}

func TestDirectoryComesAndGoes(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, c *comesAndGoes)
	}{
		{"it comes", func(*testing.T, *comesAndGoes) {}},
		{"it goes and comes again", func(t *testing.T, c *comesAndGoes) {
			must(t, os.RemoveAll(c.dir))
			c.loses()
		}},
		{"what is above it goes and comes again", func(t *testing.T, c *comesAndGoes) {
			must(t, os.RemoveAll(filepath.Dir(c.dir)))
			c.loses()
		}},
		{"what is above it is moved away", func(t *testing.T, c *comesAndGoes) {
			must(t, os.Rename(filepath.Dir(c.dir), filepath.Join(c.base, "old")))
			c.loses()
		}},
		{"another is put in its place at once", func(t *testing.T, c *comesAndGoes) {
			c.plugin(filepath.Join(c.base, "new"), "second")
			must(t, os.Rename(c.dir, filepath.Join(c.base, "old")))
			must(t, os.Rename(filepath.Join(c.base, "new"), c.dir))
		}},
		{"a link is put in its place", func(t *testing.T, c *comesAndGoes) {
			must(t, os.MkdirAll(filepath.Join(c.base, "elsewhere"), 0o755))
			must(t, os.RemoveAll(c.dir))
			must(t, os.Symlink(filepath.Join(c.base, "elsewhere"), c.dir))
		}},
		{"what a link leads to goes", func(t *testing.T, c *comesAndGoes) {
			elsewhere := filepath.Join(c.base, "elsewhere")
			must(t, os.RemoveAll(c.dir))
			must(t, os.Symlink(elsewhere, c.dir))
			must(t, os.MkdirAll(elsewhere, 0o755))
			c.sees(c.plugin(elsewhere, "linked"))
			c.forget()
			must(t, os.RemoveAll(elsewhere))
			c.loses()
			must(t, os.Mkdir(elsewhere, 0o755))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newComesAndGoes(t)
			c.sees(c.plugin(c.dir, "first"))
			tc.do(t, c)
			c.sees(c.plugin(c.dir, "third"))
		})
	}
}

// TestMovedAwayIsNotWatched: what is run where the directory was moved to is no plugin's run.
func TestMovedAwayIsNotWatched(t *testing.T) {
	c := newComesAndGoes(t)
	c.sees(c.plugin(c.dir, "first"))
	old := filepath.Join(c.base, "old")
	must(t, os.Rename(c.dir, old))
	c.loses()
	c.run(t.Context(), filepath.Join(old, "first"))
	next := c.plugin(c.dir, "next")
	for len(c.runs) > 0 { // earlier ones
		<-c.runs
	}
	c.run(t.Context(), filepath.Join(old, "first"))
	c.sees(next) // later than that
	for len(c.runs) > 0 {
		if e := <-c.runs; e.Plugin == "first" {
			t.Errorf("%+v", e)
		}
	}
}

func TestResolve(t *testing.T) {
	base := t.TempDir()
	in := func(p string) string { return filepath.Join(base, p) }
	must(t, os.MkdirAll(in("real/bin"), 0o750))
	must(t, os.Symlink(in("real"), in("opt")))
	must(t, os.Symlink("../none", in("real/away")))
	must(t, os.Symlink("loop", in("loop")))
	for path, want := range map[string][]string{
		"real/bin":   {"real/bin"},
		"opt/bin":    {"opt/bin", "real/bin"},
		"opt/away/x": {"opt/away/x", "real/away/x", "none/x"},
		"no/such":    {"no/such"},
	} {
		for i := range want {
			want[i] = in(want[i])
		}
		if got := resolve(in(path)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := resolve(in("loop")); len(got) > maxLinks+1 {
		t.Errorf("a loop: %d steps", len(got))
	}
}
