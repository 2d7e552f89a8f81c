package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/vm"
)

const (
	// Name is the node's.
	Name = "vm"
	// patience is how long a boot may take: 100 s alone, and some panic early, after which they begin anew.
	patience = 20 * time.Minute
	memory   = 3072
	diskSize = 8 << 30
	// portFile has the port of ssh.
	portFile = "port"
)

// Machine is a node that runs.
type Machine struct {
	// Console is the file with what the kernel and systemd print.
	Console string

	dir, port string
	ended     chan struct{}
	kill      context.CancelFunc
}

// Start makes the node's disk in dir, which must be empty, boots, and waits until ssh answers. The kubelet and containerd start by themselves.
// programs are files of this machine that the node has in /usr/local/bin.
func Start(ctx context.Context, dir string, c *lab.Cluster, programs []string, log io.Writer) (_ *Machine, err error) {
	m := &Machine{dir: dir, Console: filepath.Join(dir, "console"), ended: make(chan struct{})}
	archive, err := Debian(ctx, log)
	if err != nil {
		return nil, err
	}
	kernel, initrd, err := m.disk(ctx, archive, c, programs)
	if err != nil {
		return nil, fmt.Errorf("the node's disk: %w", err)
	}
	if m.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(m.path(portFile), []byte(m.port), 0o600); err != nil {
		return nil, err
	}
	run, kill := context.WithCancel(context.Background())
	m.kill = kill
	q := exec.CommandContext(run, "qemu-system-x86_64",
		"-accel", "tcg,thread=multi", "-cpu", "max,-la57,-vmx,-cx16", "-smp", "2", "-m", strconv.Itoa(memory),
		"-display", "none", "-monitor", "none", "-nodefaults", "-serial", "file:"+m.Console, "-kernel", kernel, "-initrd", initrd,
		"-append", "root=/dev/vda rw console=ttyS0 mitigations=off psi=1 panic=-1",
		"-drive", "file="+m.path("disk.img")+",if=virtio,format=raw,cache=unsafe",
		"-nic", "user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:"+m.port+"-:22")
	var said bytes.Buffer
	q.Stderr = &said
	var end error
	go func() {
		end = vm.RunBound(q)
		close(m.ended)
	}()
	began := time.Now()
	if err := m.await(ctx); err != nil {
		m.kill()
		<-m.ended
		return nil, errors.Join(err, end, errors.New(said.String()), errors.New(tail(m.Console)))
	}
	_, err = fmt.Fprintf(log, "the node's ssh answers after %s\n", time.Since(began).Round(time.Second))
	return m, err
}

func (m *Machine) path(name string) string { return filepath.Join(m.dir, name) }

// disk makes the disk, and returns the kernel and its first file system.
func (m *Machine) disk(ctx context.Context, archive string, c *lab.Cluster, programs []string) (kernel, initrd string, err error) {
	if err := command(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", m.path("key")); err != nil {
		return "", "", err
	}
	public, err := os.ReadFile(m.path("key.pub"))
	if err != nil {
		return "", "", err
	}
	root := m.path("root")
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	if err := tree(ctx, archive, root, string(public), c, programs); err != nil {
		return "", "", err
	}
	for name, pattern := range map[string]string{"vmlinuz": "boot/vmlinuz-*", "initrd": "boot/initrd.img-*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) != 1 {
			return "", "", fmt.Errorf("%s has %d files %s", archive, len(found), pattern)
		}
		if err := os.Rename(found[0], m.path(name)); err != nil {
			return "", "", err
		}
	}
	disk := m.path("disk.img")
	if err := os.WriteFile(disk, nil, 0o600); err != nil {
		return "", "", err
	}
	if err := os.Truncate(disk, diskSize); err != nil {
		return "", "", err
	}
	return m.path("vmlinuz"), m.path("initrd"), command(ctx, "mke2fs", "-q", "-t", "ext4", "-d", root, disk)
}

// await waits until a command runs on the node.
func (m *Machine) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		try, end := context.WithTimeout(ctx, 30*time.Second)
		_, err := m.Run(try, "true")
		end()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the node does not boot: %w", err)
		case <-m.ended:
			return errors.New("the node ended while it booted")
		case <-time.After(2 * time.Second):
		}
	}
}

// Reboot restarts the node as its operator would, and waits until ssh answers again.
func (m *Machine) Reboot(ctx context.Context) error {
	before, err := m.Run(ctx, "cat /proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	_, _ = m.Run(ctx, "systemctl reboot") // the connection ends, or not
	for {
		if err := m.await(ctx); err != nil {
			return err
		}
		now, err := m.Run(ctx, "cat /proc/sys/kernel/random/boot_id")
		if err == nil && now != before {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// Open finds a machine that another process started in dir, in this network namespace. It is not to be closed.
func Open(dir string) (*Machine, error) {
	port, err := os.ReadFile(filepath.Join(dir, portFile))
	return &Machine{dir: dir, Console: filepath.Join(dir, "console"), port: string(port)}, err
}

// Close ends the machine.
func (m *Machine) Close() {
	m.kill()
	<-m.ended
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// tail is the end of a file.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
