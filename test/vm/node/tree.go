package node

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// files are those of the node that are the same each time, but for what stands in ${}.
//
//go:embed files
var files embed.FS

const caFile = "/etc/kubernetes/pki/ca.crt"

// tree makes the node's root file system in dir.
func tree(ctx context.Context, archive, dir, publicKey string, c *lab.Cluster, programs []string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	err := command(ctx, "tar", "-xf", archive, "-C", dir, "--exclude=./dev/*", "--exclude=./usr/share/doc", "--exclude=./usr/share/man", "--exclude=./usr/share/locale")
	if err != nil {
		return err
	}
	tools, err := lab.Tools(ctx, nil)
	if err != nil {
		return err
	}
	t := &writer{dir: dir}
	t.text("etc/hostname", Name+"\n")
	t.text("etc/hosts", "127.0.0.1 localhost\n127.0.1.1 "+Name+"\n")
	t.text("etc/resolv.conf", "nameserver 10.0.2.3\n")
	t.text("etc/machine-id", "6b756265626c6f757065206e6f646520\n")
	t.text("root/.ssh/authorized_keys", publicKey)
	t.dirs("var/log/journal", "etc/kubernetes/manifests")
	t.filled(c)
	t.copied("usr/bin/containerd", tools.Containerd, "containerd")
	t.copied("usr/bin/containerd-shim-runc-v2", tools.Containerd, "containerd-shim-runc-v2")
	t.copied("usr/bin/ctr", tools.Containerd, "ctr")
	t.copied("usr/sbin/runc", tools.Runc, "runc")
	t.copied("usr/bin/kubelet", c.Programs, "kubelet")
	for _, p := range []string{"bridge", "host-local", "loopback", "portmap"} {
		t.copied("opt/cni/bin/"+p, tools.CNI, p)
	}
	for _, p := range programs {
		t.copied("usr/local/bin/"+filepath.Base(p), p, "")
	}
	t.copied(strings.TrimPrefix(caFile, "/"), c.CAFile, "")
	pki := filepath.Dir(c.CAFile)
	t.copied("etc/kubernetes/pki/apiserver-kubelet-client.crt", pki, "kubelet-client.crt")
	t.copied("etc/kubernetes/pki/apiserver-kubelet-client.key", pki, "kubelet-client.key")
	bootstrap, err := os.ReadFile(c.BootstrapKubeconfig)
	t.err = errors.Join(t.err, err)
	t.text("etc/kubernetes/bootstrap-kubelet.conf", strings.ReplaceAll(string(bootstrap), c.CAFile, caFile))
	t.wants("multi-user.target", "containerd", "kubelet", "systemd-networkd")
	t.wants("network-online.target", "systemd-networkd-wait-online")
	t.masked("apt-daily.timer", "apt-daily-upgrade.timer", "fstrim.timer", "e2scrub_all.timer", "e2scrub_reap.service", "dpkg-db-backup.timer")
	return t.err
}

// writer writes files of a node, until it cannot.
type writer struct {
	dir string
	err error
}

func (t *writer) do(name string, write func(path string) error) {
	if t.err != nil {
		return
	}
	path := filepath.Join(t.dir, name)
	if t.err = os.MkdirAll(filepath.Dir(path), 0o755); t.err == nil {
		t.err = write(path)
	}
}

func (t *writer) text(name, text string) {
	t.do(name, func(path string) error {
		return errors.Join(ignoreMissing(os.Remove(path)), os.WriteFile(path, []byte(text), 0o644))
	})
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (t *writer) dirs(names ...string) {
	for _, n := range names {
		t.do(n, func(path string) error { return os.MkdirAll(path, 0o755) })
	}
}

// copied copies a file of this machine, with the permissions that it has.
func (t *writer) copied(name, dir, file string) {
	t.do(name, func(path string) error {
		from := filepath.Join(dir, file)
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		return os.WriteFile(path, text, info.Mode().Perm())
	})
}

func (t *writer) wants(target string, units ...string) {
	for _, u := range units {
		t.link("etc/systemd/system/"+target+".wants/"+u+".service", "/usr/lib/systemd/system/"+u+".service")
	}
}

func (t *writer) masked(units ...string) {
	for _, u := range units {
		t.link("etc/systemd/system/"+u, "/dev/null")
	}
}

func (t *writer) link(name, to string) {
	t.do(name, func(path string) error { return errors.Join(ignoreMissing(os.Remove(path)), os.Symlink(to, path)) })
}

// filled writes what is below files.
func (t *writer) filled(c *lab.Cluster) {
	// The registry serves on this machine's loopback, which QEMU's user network has as 10.0.2.2.
	_, port, _ := strings.Cut(c.Registry, ":")
	fill := strings.NewReplacer("${DNS_IP}", c.DNSIP, "${PAUSE}", c.Image(lab.ImagePause), "${REGISTRY_HOST}", "10.0.2.2:"+port)
	err := fs.WalkDir(files, "files", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		t.text(strings.Replace(strings.TrimPrefix(name, "files/"), "REGISTRY", c.Registry, 1), fill.Replace(string(text)))
		return t.err
	})
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("the node's files: %w", err)
	}
}
