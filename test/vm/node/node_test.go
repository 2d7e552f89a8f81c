package node

import (
	"bufio"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFilled sees that nothing of the node's files is left open, and what the configuration changes in them.
func TestFilled(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want map[string]string // a line of a file
	}{
		"systemd": {Config{}, map[string]string{
			"etc/containerd/config.toml": "SystemdCgroup = true", "var/lib/kubelet/config.yaml": "cgroupDriver: systemd",
		}},
		"cgroupfs": {Config{Cgroupfs: true}, map[string]string{
			"etc/containerd/config.toml": "SystemdCgroup = false", "var/lib/kubelet/config.yaml": "cgroupDriver: cgroupfs",
		}},
		"selinux": {Config{SELinux: true}, map[string]string{"etc/containerd/config.toml": "enable_selinux = true"}},
		"disks":   {Config{Disks: true}, map[string]string{"var/lib/kubelet/config.yaml": "failSwapOn: false"}},
		"none":    {Config{}, map[string]string{"var/lib/kubelet/config.yaml": "failSwapOn: true", "etc/containerd/config.toml": "sandbox = 'kubeloupe.local/kubeloupe/pause:3.10'"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{dir: t.TempDir()}
			w.filled(c.cfg)
			if w.err != nil {
				t.Fatal(w.err)
			}
			open := regexp.MustCompile(`\$\{[A-Z_]+\}|REGISTRY`)
			err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				if found := open.FindString(path + string(text)); found != "" {
					t.Errorf("%s has %s", path, found)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for file, want := range c.want {
				if text, err := os.ReadFile(filepath.Join(w.dir, file)); err != nil || !strings.Contains(string(text), want+"\n") {
					t.Errorf("%s has no line %q: %v", file, want, err)
				}
			}
			if info, err := os.Stat(filepath.Join(w.dir, "usr/local/sbin/cgroup-driver")); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("cgroup-driver cannot be executed: %v", err)
			}
		})
	}
}

func TestFstab(t *testing.T) {
	if text := fstab(Config{}); strings.Contains(text, "swap") || !strings.Contains(text, " / ext4") {
		t.Errorf("without more disks: %s", text)
	}
	if text := fstab(Config{Disks: true}); !strings.Contains(text, "/dev/vdb none swap") || !strings.Contains(text, "/dev/vdc /data") {
		t.Errorf("with more disks: %s", text)
	}
}

// TestDown has an emulator end by its socket, and leaves a directory alone that has no machine.
func TestDown(t *testing.T) {
	dir := t.TempDir()
	if err := Down(t.Context(), dir); !errors.Is(err, ErrNone) {
		t.Errorf("without a machine: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Errorf("without a machine: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, portFile), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, monitorFile))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(dir)
	if err != nil || m.Ended() {
		t.Fatalf("the machine has ended: %v", err)
	}
	told := make(chan string, 2)
	go func() {
		defer close(told)
		for range 2 { // Ended, then Down
			c, err := l.Accept()
			if err != nil {
				return
			}
			s := bufio.NewScanner(c)
			for s.Scan() && s.Text() != "quit" {
			}
			told <- s.Text()
			_ = c.Close()
		}
		_ = l.Close()
	}()
	if err := Down(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if first, second := <-told, <-told; first != "" || second != "quit" {
		t.Errorf("the emulator was told %q and %q", first, second)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
}

// TestRefused sees that mistakes are named before anything is unpacked.
func TestRefused(t *testing.T) {
	for want, cfg := range map[string]Config{
		"sockets allow": {Dir: "/" + strings.Repeat("d", 100)},
		"of a cluster":  {Dir: "/d", Agent: Kubelet},
	} {
		if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", cfg, err, want)
		}
	}
}

// TestMachine sees what the configuration changes for the emulator and for the node's first units.
func TestMachine(t *testing.T) {
	for want, cfg := range map[string]Config{"-m 3072": {}, "-m 5120": {Memory: 5120}, "hugepages=16 net.ifnames=0 -nic": {KernelArgs: "net.ifnames=0"}} {
		m := &Machine{dir: "/d", port: "22"}
		if args := strings.Join(m.qemu(cfg), " "); !strings.Contains(args, " "+want+" ") {
			t.Errorf("no %s in %s", want, args)
		}
	}
	for agent, want := range map[Agent]string{Kubelet: "kubelet.service", Kubeloupe: "kubeloupe.service", None: ""} {
		w := &writer{dir: t.TempDir()}
		w.enabled(agent)
		found, err := filepath.Glob(filepath.Join(w.dir, "etc/systemd/system/multi-user.target.wants/*"))
		var names string
		for _, f := range found {
			names += filepath.Base(f)
		}
		if err != nil || w.err != nil || names != want {
			t.Errorf("%s starts %q, %v, %v, want %q", agent, names, err, w.err, want)
		}
	}
}
