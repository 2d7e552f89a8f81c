package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	// suite is Debian's release on the node, mirror where its packages come from.
	suite  = "trixie"
	mirror = "http://deb.debian.org/debian"
	// packages are what a node of kubeadm has, and what the tests use.
	packages = "linux-image-cloud-amd64,systemd-sysv,udev,dbus,iproute2,iptables,kmod,openssh-server,ca-certificates,procps,libseccomp2,mount,conntrack," +
		"apparmor,curl,open-iscsi,e2fsprogs"
	// policy is what a node with SELinux has besides: Debian's reference policy, and the programs that load and read it.
	policy = ",selinux-policy-default,policycoreutils,selinux-utils"
)

// Debian makes sure of the emulator, of what makes disks, and of the node's packages in the cache, which needs the network once for each
// list of packages: a node with SELinux has one of its own. It returns the archive.
func Debian(ctx context.Context, log io.Writer, selinux bool) (string, error) {
	if err := lab.Packages(ctx, log, "qemu-system-x86", "mmdebstrap", "e2fsprogs", "openssh-client", "tar"); err != nil {
		return "", err
	}
	cache, err := lab.Cache()
	if err != nil {
		return "", err
	}
	include := packages
	if selinux {
		include += policy
	}
	recipe := []string{"--variant=minbase", "--format=tar", "--include=" + include, suite}
	hash := sha256.Sum256([]byte(strings.Join(append(recipe, mirror), "\x00")))
	archive := filepath.Join(cache, "vm", fmt.Sprintf("debian-%s-%x.tar", suite, hash[:6]))
	if _, err := os.Stat(archive); !errors.Is(err, fs.ErrNotExist) {
		return archive, err
	}
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return "", err
	}
	began := time.Now()
	_, _ = fmt.Fprintf(log, "unpacking Debian %s, once: %s\n", suite, archive)
	tmp := fmt.Sprintf("%s.%d", archive, os.Getpid())
	if err := command(ctx, "mmdebstrap", append([]string{"--quiet"}, append(recipe, tmp, mirror)...)...); err != nil {
		return "", errors.Join(err, os.RemoveAll(tmp))
	}
	_, _ = fmt.Fprintf(log, "Debian is unpacked after %s\n", time.Since(began).Round(time.Second))
	return archive, os.Rename(tmp, archive)
}

// command runs a program.
func command(ctx context.Context, name string, args ...string) error {
	if said, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, strings.TrimSpace(string(said)))
	}
	return nil
}
