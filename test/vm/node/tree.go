package node

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// files are those of the node that are the same each time, but for what stands in ${}.
//
//go:embed files
var files embed.FS

const caFile = "/etc/kubernetes/pki/ca.crt"

// tree makes the node's root file system in dir.
func tree(ctx context.Context, archive, dir, publicKey string, cfg Config) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	err := command(ctx, "tar", "-xf", archive, "-C", dir, "--exclude=./dev/*", "--exclude=./usr/share/doc", "--exclude=./usr/share/man", "--exclude=./usr/share/locale")
	if err != nil {
		return err
	}
	tools, err := lab.Tools(ctx, cfg.Log)
	if err != nil {
		return err
	}
	t := &writer{dir: dir}
	t.text("etc/hostname", Name+"\n")
	t.text("etc/hosts", "127.0.0.1 localhost\n127.0.1.1 "+Name+"\n")
	t.text("etc/resolv.conf", "nameserver 10.0.2.3\n")
	t.text("etc/machine-id", "6b756265626c6f757065206e6f646520\n")
	t.text("root/.ssh/authorized_keys", publicKey)
	t.text("etc/fstab", fstab(cfg))
	t.dirs("var/log/journal", "etc/kubernetes/manifests", "data")
	t.filled(cfg)
	t.copied("usr/bin/containerd", tools.Containerd, "containerd")
	t.copied("usr/bin/containerd-shim-runc-v2", tools.Containerd, "containerd-shim-runc-v2")
	t.copied("usr/bin/ctr", tools.Containerd, "ctr")
	t.copied("usr/sbin/runc", tools.Runc, "runc")
	for _, p := range []string{"bridge", "host-local", "loopback", "portmap"} {
		t.copied("opt/cni/bin/"+p, tools.CNI, p)
	}
	for _, to := range slices.Sorted(maps.Keys(cfg.Copy)) {
		t.copied(to, cfg.Copy[to], "")
	}
	if cfg.Cluster != nil {
		t.joins(cfg.Cluster)
	} else {
		t.alone(ctx, cfg)
	}
	t.wants("multi-user.target", "containerd", "systemd-networkd")
	t.enabled(cfg.Agent)
	t.wants("network-online.target", "systemd-networkd-wait-online")
	t.masked("apt-daily.timer", "apt-daily-upgrade.timer", "fstrim.timer", "e2scrub_all.timer", "e2scrub_reap.service", "dpkg-db-backup.timer")
	return t.err
}

// fstab mounts the node's disks.
func fstab(cfg Config) string {
	text := "/dev/vda / ext4 defaults 0 1\n"
	if cfg.Disks {
		text += "/dev/vdb none swap sw 0 0\n/dev/vdc /data ext4 defaults 0 2\n"
	}
	return text
}

// joins writes what a node of a cluster has: upstream's kubelet, the cluster's authority and the token to join with.
func (t *writer) joins(c *lab.Cluster) {
	t.copied("usr/bin/kubelet", c.Programs, "kubelet")
	t.copied(strings.TrimPrefix(caFile, "/"), c.CAFile, "")
	pki := filepath.Dir(c.CAFile)
	t.copied("etc/kubernetes/pki/apiserver-kubelet-client.crt", pki, "kubelet-client.crt")
	t.copied("etc/kubernetes/pki/apiserver-kubelet-client.key", pki, "kubelet-client.key")
	bootstrap, err := os.ReadFile(c.BootstrapKubeconfig)
	t.err = errors.Join(t.err, err)
	t.text("etc/kubernetes/bootstrap-kubelet.conf", strings.ReplaceAll(string(bootstrap), c.CAFile, caFile))
}

// alone writes what a node without a cluster has: the lab's images, and no API server for kubeloupe.
func (t *writer) alone(ctx context.Context, cfg Config) {
	t.text("etc/default/kubeloupe", "KUBELET_KUBECONFIG_ARGS=\n")
	t.wants("multi-user.target", "images")
	t.do("var/lib/images", func(dir string) error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return lab.ExportImages(ctx, cfg.Log, dir, imageHost, lab.ImagePause, lab.ImageBusybox, lab.ImageHTTP)
	})
}

// enabled has the agent start with the machine: its unit is where its installer puts it.
func (t *writer) enabled(a Agent) {
	if a == None {
		return
	}
	dir := "/usr/lib/systemd/system/"
	if a == Kubeloupe {
		dir = "/etc/systemd/system/"
	}
	t.link("etc/systemd/system/multi-user.target.wants/"+string(a)+".service", dir+string(a)+".service")
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
func (t *writer) filled(cfg Config) {
	fill, registry := filler(cfg)
	err := fs.WalkDir(files, "files", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		to := strings.Replace(strings.TrimPrefix(name, "files/"), "REGISTRY", registry, 1)
		t.text(to, fill.Replace(string(text)))
		if strings.HasPrefix(to, "usr/local/sbin/") && t.err == nil {
			t.err = os.Chmod(filepath.Join(t.dir, to), 0o755)
		}
		return t.err
	})
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("the node's files: %w", err)
	}
}

// imageHost is what the names of images begin with on a node without a cluster.
const imageHost = "kubeloupe.local"

// filler fills the node's files in, and returns the address of the registry as images are named.
func filler(cfg Config) (fill *strings.Replacer, registry string) {
	dns, host, pause := "10.96.0.10", "127.0.0.1:5000", imageHost+"/"+lab.ImagePause.Repository()
	registry = host
	if c := cfg.Cluster; c != nil {
		// The registry serves on this machine's loopback, which QEMU's user network has as 10.0.2.2.
		_, port, _ := strings.Cut(c.Registry, ":")
		dns, registry, host, pause = c.DNSIP, c.Registry, "10.0.2.2:"+port, c.Image(lab.ImagePause)
	}
	driver := "systemd"
	if cfg.Cgroupfs {
		driver = "cgroupfs"
	}
	return strings.NewReplacer(
		"${DNS_IP}", dns, "${PAUSE}", pause, "${REGISTRY_HOST}", host,
		"${CGROUP_DRIVER}", driver, "${SYSTEMD_CGROUP}", strconv.FormatBool(!cfg.Cgroupfs), "${FAIL_SWAP_ON}", strconv.FormatBool(!cfg.Disks),
		"${SELINUX}", strconv.FormatBool(cfg.SELinux),
	), registry
}
