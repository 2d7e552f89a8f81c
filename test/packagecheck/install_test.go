package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is a small system in a directory: a shell for the scripts of packages, and a systemctl that writes down its calls.
type root string

func newRoot(t *testing.T) root {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("an installation needs root: its scripts run in a chroot")
	}
	r := root(t.TempDir())
	for _, dir := range []string{"tmp", "run/systemd/system", "etc/kubernetes/manifests", "usr/bin", "var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/kubelet", "dev", "proc"} {
		r.must(t, os.MkdirAll(r.path(dir), 0o755))
	}
	r.must(t, os.Symlink("usr/bin", r.path("bin")))
	for _, name := range []string{"var/lib/dpkg/status", "etc/resolv.conf", "etc/hosts"} {
		r.write(t, name, "", 0o644)
	}
	r.write(t, "usr/bin/systemctl", "#!/bin/sh\necho \"$*\" >> /systemctl\n", 0o755)
	r.write(t, "var/lib/kubelet/cpu_manager_state", "{}", 0o644)
	// A shell, and its libraries: ldd has them by their paths.
	sh := strings.TrimSpace(output(t, "readlink", "-f", "/bin/sh"))
	r.copy(t, sh, "usr/bin/sh")
	for _, word := range strings.Fields(output(t, "ldd", sh)) {
		if strings.HasPrefix(word, "/") {
			r.copy(t, word, word)
		}
	}
	return r
}

func (r root) path(name string) string { return filepath.Join(string(r), name) }

func (r root) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r root) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	r.must(t, os.WriteFile(r.path(name), []byte(text), mode))
}

func (r root) copy(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	r.must(t, err)
	r.must(t, os.MkdirAll(filepath.Dir(r.path(to)), 0o755))
	r.write(t, to, string(text), 0o755)
}

// calls returns what systemctl was called with since the last time.
func (r root) calls(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.path("systemctl"))
	if os.IsNotExist(err) {
		return ""
	}
	r.must(t, err)
	r.must(t, os.Remove(r.path("systemctl")))
	return string(text)
}

// reloaded sees that systemd was told of the unit, and of nothing else.
func (r root) reloaded(t *testing.T, what string) {
	t.Helper()
	if got := r.calls(t); got == "" || strings.ReplaceAll(got, "daemon-reload\n", "") != "" {
		t.Errorf("%s called systemctl %q, want only daemon-reload", what, got)
	}
}

func (r root) text(name string) string {
	text, err := os.ReadFile(r.path(name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (r root) exists(name string) bool {
	_, err := os.Lstat(r.path(name))
	return err == nil
}

// manager is a package manager, with its commands for a root.
type manager struct {
	format                   string
	needs                    string
	install, upgrade, remove func(t *testing.T, r root, file string)
	kept                     string // where a configuration file that was changed is after the removal
}

func managers() []manager {
	dpkg := func(t *testing.T, r root, args ...string) {
		t.Helper()
		t.Log(output(t, "dpkg", append([]string{"--root=" + string(r), "--log=/dev/null"}, args...)...))
	}
	rpm := func(t *testing.T, r root, args ...string) {
		t.Helper()
		flags := []string{"--root", string(r), "--dbpath", "/var/lib/rpm", "--nodeps", "-v"}
		if strings.Contains(output(t, "rpm", "--help"), "--force-debian") { // Debian's rpm wants to hear that this is meant
			flags = append(flags, "--force-debian")
		}
		t.Log(output(t, "rpm", append(flags, args...)...))
	}
	return []manager{
		{
			format: "deb", needs: "dpkg", kept: "etc/kubeloupe/config.yaml",
			install: func(t *testing.T, r root, file string) { t.Helper(); dpkg(t, r, "--install", file) },
			upgrade: func(t *testing.T, r root, file string) { t.Helper(); dpkg(t, r, "--force-confold", "--install", file) },
			remove:  func(t *testing.T, r root, _ string) { t.Helper(); dpkg(t, r, "--remove", "kubeloupe") },
		},
		{
			format: "rpm", needs: "rpm", kept: "etc/kubeloupe/config.yaml.rpmsave",
			install: func(t *testing.T, r root, file string) { t.Helper(); rpm(t, r, "--install", file) },
			upgrade: func(t *testing.T, r root, file string) { t.Helper(); rpm(t, r, "--upgrade", file) },
			remove:  func(t *testing.T, r root, _ string) { t.Helper(); rpm(t, r, "--erase", "kubeloupe") },
		},
	}
}

// TestInstall installs, upgrades and removes packages. Nothing is started or enabled, the configuration and the state of the node stay.
func TestInstall(t *testing.T) {
	for _, m := range managers() {
		t.Run(m.format, func(t *testing.T) {
			need(t, m.needs)
			r := newRoot(t)
			m.install(t, r, built.packages[m.format])
			r.reloaded(t, "the installation")
			r.works(t)

			const changed = "# changed by the operator\n"
			r.write(t, "etc/kubeloupe/config.yaml", changed, 0o644)
			m.upgrade(t, r, newer(t, m.format))
			r.reloaded(t, "the upgrade")
			if got := r.text("etc/kubeloupe/config.yaml"); got != changed {
				t.Errorf("after the upgrade, the configuration is %s", got)
			}
			has(t, r.text("usr/share/doc/kubeloupe/README.md"), "the new one")

			m.remove(t, r, "")
			if got, want := r.calls(t), "disable --now kubeloupe.service\ndaemon-reload\n"; got != want {
				t.Errorf("the removal called systemctl %q, want %q", got, want)
			}
			if got := r.text(m.kept); got != changed {
				t.Errorf("after the removal, the configuration is %s", got)
			}
			for _, gone := range []string{"usr/bin/kubeloupe", "usr/bin/kubectl-loupe", "usr/lib/systemd/system/kubeloupe.service", "usr/share/man/man1/kubeloupe.1.gz"} {
				if r.exists(gone) {
					t.Errorf("after the removal, there is /%s", gone)
				}
			}
			if !r.exists("var/lib/kubelet/cpu_manager_state") {
				t.Error("the removal removed the state of the node")
			}
		})
	}
}

// works runs what was installed: the program by each of its names, and a pod with the configuration, on the simulated runtime.
func (r root) works(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"/usr/bin/kubeloupe", "--version"}, {"/usr/bin/kubectl-loupe", "version"}} {
		if got, want := output(t, "chroot", append([]string{string(r)}, args...)...), "kubeloupe "+built.release.Version+"\n"; got != want {
			t.Errorf("%s prints %q, want %q", args, got, want)
		}
	}
	r.write(t, "etc/kubernetes/manifests/one.yaml", `apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  dnsPolicy: Default
  containers: [{name: one, image: one}]
`, 0o644)
	// With a /proc and a network that end with the command.
	need(t, "unshare", "ip")
	const pod = `mount -t proc proc "$1/proc" && ip link set lo up && exec chroot "$1" /usr/bin/kubeloupe run --config /etc/kubeloupe/config.yaml \
		--runtime sim --once --hostname-override node --root-dir /tmp/kubelet`
	has(t, output(t, "unshare", "--mount", "--net", "sh", "-c", pod, "sh", string(r)), "Running    default/one-node")
	r.must(t, os.Remove(r.path("etc/kubernetes/manifests/one.yaml")))
}

// newer is a package of the next version, with another README and another configuration.
func newer(t *testing.T, format string) string {
	t.Helper()
	dir := t.TempDir()
	cfg := built.config
	cfg.Contents = append(cfg.Contents[:0:0], cfg.Contents...)
	for i, c := range cfg.Contents {
		if c.Source != "README.md" && c.Source != "deploy/package/config.yaml" {
			continue
		}
		text, err := os.ReadFile(c.Source)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Contents[i].Source = filepath.Join(dir, filepath.Base(c.Source))
		if err := os.WriteFile(cfg.Contents[i].Source, append([]byte("# the new one\n"), text...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	next := built.release
	next.Version = "999.0.0"
	file, err := Build(cfg, next, format, dir)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
