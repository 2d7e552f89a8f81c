package flex

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/program"
	"github.com/kubeloupe/kubeloupe/agent/volume"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Drivers that answer wrong: the error names the driver and the call, and the directory is removed.
func TestWrongAnswers(t *testing.T) {
	for what, tc := range map[string]struct{ mount, want string }{
		"failure":        {`echo '{"status": "Failure", "message": "no space"}'; exit 1`, `exit status 1, status "Failure": no space`},
		"failure, 0":     {`echo '{"status": "Failure", "message": "no space"}'`, `status "Failure": no space`},
		"success, 3":     {`ok; exit 3`, `exit status 3, but its response has the status Success`},
		"garbage":        {`echo mount: oops; echo why >&2`, `its response must be JSON, and is "mount: oops" (4 bytes on stderr)`},
		"garbage, 1":     {`echo oops; exit 1`, `exit status 1, its response must be JSON, and is "oops" (0 bytes on stderr)`},
		"nothing":        {`:`, `its response must be JSON, and is "" (0 bytes on stderr)`},
		"no status":      {`echo '{}'`, `status "": `},
		"another type":   {`echo '{"status": 3}'`, `its response must be JSON, and is "{\"status\": 3}" (0 bytes on stderr)`},
		"huge":           {`yes`, "its response on stdout is longer than 65536 bytes"},
		"killed":         {`kill -9 $$`, `signal: killed, its response must be JSON, and is "" (0 bytes on stderr)`},
		"a daemon":       {`sleep 100 & ok`, "it exited, but a process that it started keeps its stdout or stderr open"},
		"not supported":  {`echo '{"status": "Not supported"}'`, "the driver does not support the call"},
		"a long message": {`printf '{"status": "Failure", "message": "'; head -c 5000 /dev/zero | tr '\0' x; echo '"}'`, `status "Failure": ` + strings.Repeat("x", maxMessage) + "…"},
	} {
		b := newBench(t, nil)
		b.install(name, plain+"mount) "+tc.mount+";;")
		s := b.spec("u", nil)
		_, err := b.p.SetUp(t.Context(), s)
		if call, ok := errors.AsType[*CallError](err); !ok || call.Driver != name || call.Call != "mount" || err.Error() != "flexvolume driver example.com/disk: mount: "+tc.want {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Lstat(s.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory is left", what)
		}
	}
}

// A call that hangs ends with its children, and other volumes of a driver that hangs in init share its error.
func TestHangs(t *testing.T) {
	for patience := 300 * time.Millisecond; !hangs(t, patience); patience *= 2 { // this machine is busy
		if patience > time.Minute {
			t.Fatal("the driver does not begin within a minute")
		}
	}
}

// hangs returns false if the driver was ended before it had a child.
func hangs(t *testing.T, patience time.Duration) bool {
	t.Helper()
	b := newBench(t, func(c *Config) { c.Patience = patience })
	pid := filepath.Join(b.dir, "pid")
	b.install(name, `init) sleep 1000 & echo $! > `+pid+`; wait;;`)
	failed := make(chan error, 2)
	for _, uid := range []string{"u1", "u2"} {
		go func() {
			_, err := b.p.SetUp(t.Context(), b.spec(uid, nil))
			failed <- err
		}()
	}
	for range 2 {
		err := <-failed
		if late, ok := errors.AsType[*program.TimeoutError](err); !ok || late.Limit != patience || err.Error() != "flexvolume driver example.com/disk: init: no response within "+patience.String() {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(pid)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(text) == 0 {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		stat, _ := os.ReadFile("/proc/" + itoa(child) + "/stat")
		if errors.Is(syscall.Kill(child, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ") {
			return true
		}
		if time.Now().After(end) {
			t.Fatalf("process %d lives on", child)
		}
	}
}

// What is not a driver: the error names the driver and the path.
func TestNoDriver(t *testing.T) {
	for what, tc := range map[string]struct {
		make func(dir, path string) error
		want string
	}{
		"not executable": {func(_, path string) error { return os.WriteFile(path, nil, 0o600) }, "PATH is not executable (mode 600)"},
		"a directory":    {func(_, path string) error { return os.Mkdir(path, 0o700) }, "PATH is a directory: must be a program"},
		"a FIFO":         {func(_, path string) error { return syscall.Mkfifo(path, 0o700) }, "PATH is a special file: must be a program"},
		"a dead link":    {func(_, path string) error { return os.Symlink("nowhere", path) }, "PATH is a link to nowhere, which does not exist"},
		"a circle":       {func(_, path string) error { return os.Symlink(path, path) }, "stat PATH: too many levels of symbolic links"},
		"a linked directory": {func(dir, _ string) error {
			return errors.Join(os.Remove(dir), os.Symlink("/bin", dir))
		}, "DIR is a symbolic link: must be a directory"},
		"no program": {func(_, path string) error { return os.WriteFile(path, []byte{1, 2, 3}, 0o700) }, "init: fork/exec PATH: exec format error"},
	} {
		b := newBench(t, nil)
		path := b.program(name)
		dir := filepath.Dir(path)
		if err := errors.Join(os.MkdirAll(dir, 0o755), tc.make(dir, path)); err != nil {
			t.Fatal(err)
		}
		want := "flexvolume driver example.com/disk: " + strings.NewReplacer("PATH", path, "DIR", dir).Replace(tc.want)
		if _, err := b.p.SetUp(t.Context(), b.spec("u", nil)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
}

// A program that is a link to another file is a driver, as with upstream.
func TestLinkedProgram(t *testing.T) {
	b := newBench(t, nil)
	b.install("example.com/other", plain+mounts)
	path := b.program(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(b.program("example.com/other"), path)); err != nil {
		t.Fatal(err)
	}
	b.setUp(b.spec("u", nil))
}

func TestNames(t *testing.T) {
	b := newBench(t, nil)
	for driver, ok := range map[string]bool{
		"example.com/disk": true, "cifs": true, "a/b/c": true, "": false, "../x": false, "a/..": false, "/x": false, "x/": false, "a~b": false, ".hidden": false, "a\x00": false,
		strings.Repeat("x", 300): false,
	} {
		s := b.spec("u", func(s *volume.Spec) { s.Volume.FlexVolume.Driver = driver })
		if _, err := b.p.Version(s); (err == nil) != ok || b.p.Owns(driver) != ok {
			t.Errorf("%q: %v, owned %t", driver, err, b.p.Owns(driver))
		}
	}
	if b.p.Owns("kubernetes.io/azure-disk") {
		t.Error("another plugin's volume")
	}
	b.install("kubernetes.io/mine", plain)
	if !b.p.Owns("kubernetes.io/mine") {
		t.Error("a driver with that prefix")
	}
}

// A driver that reports success and leaves something in the directory: data is never removed.
func TestLeavesFiles(t *testing.T) {
	b := newBench(t, nil)
	b.install(name, plain+`mount) touch $2/mounted; ok;; unmount) ok;;`)
	s := b.spec("u", nil)
	b.setUp(s)
	if err := b.p.TearDown(t.Context(), s.Place); err == nil || !strings.Contains(err.Error(), "flexvolume driver example.com/disk: unmount: it succeeded, but the directory is not free: ") {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(s.Dir, "mounted")); err != nil {
		t.Error(err)
	}
}
