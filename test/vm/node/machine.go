package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/vm"
)

const (
	// Name is the node's.
	Name = "vm"
	// patience is how long a boot may take: 100 s alone, and some panic early, after which they begin anew.
	patience = 20 * time.Minute
	// portFile has the port of ssh.
	portFile = "port"
	// longestDir keeps the sockets of ssh and of the emulator within the kernel's limit of 107 bytes.
	longestDir = 90
)

// Machine is a node that runs.
type Machine struct {
	// Console is the file with what the kernel and systemd print.
	Console string

	dir, port string
	ended     chan struct{}
	kill      context.CancelFunc
}

// Start makes the node's disks in cfg.Dir, boots, and waits until ssh answers. containerd and the agent start by themselves.
func Start(ctx context.Context, cfg Config) (_ *Machine, err error) {
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, err
	}
	if len(cfg.Dir) > longestDir {
		return nil, fmt.Errorf("the machine's directory %s: %d bytes long, but its sockets allow %d", cfg.Dir, len(cfg.Dir), longestDir)
	}
	if cfg.Agent == "" {
		cfg.Agent = Kubelet
	}
	if cfg.Agent == Kubelet && cfg.Cluster == nil {
		return nil, errors.New("upstream's kubelet is of a cluster: give one, or have kubeloupe make the node")
	}
	if n := max(1, cfg.Sockets); cmp.Or(cfg.CPUs, cpus)%n != 0 || cmp.Or(cfg.Memory, memory)%n != 0 {
		return nil, fmt.Errorf("%d processors and %d MiB: cannot be divided among %d sockets", cmp.Or(cfg.CPUs, cpus), cmp.Or(cfg.Memory, memory), n)
	}
	m := &Machine{dir: cfg.Dir, Console: filepath.Join(cfg.Dir, "console"), ended: make(chan struct{})}
	archive, err := Debian(ctx, cfg.Log, cfg.SELinux)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	if left, err := os.ReadDir(cfg.Dir); err != nil || len(left) > 0 {
		return nil, fmt.Errorf("the machine's directory %s is not empty: %w", cfg.Dir, errors.Join(err, fs.ErrExist))
	}
	defer func() {
		if err != nil && cfg.Detached {
			err = errors.Join(err, os.RemoveAll(cfg.Dir))
		}
	}()
	if err := m.disks(ctx, archive, cfg); err != nil {
		return nil, fmt.Errorf("the node's disks: %w", err)
	}
	if m.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(m.path(portFile), []byte(m.port), 0o600); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := m.boot(ctx, cfg); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(cfg.Log, "the node's ssh answers after %s\n", time.Since(began).Round(time.Second))
	return m, err
}

// boot starts the emulator, at the lowest priority, and waits until ssh answers.
func (m *Machine) boot(ctx context.Context, cfg Config) error {
	if cfg.Detached {
		if err := command(ctx, "nice", append([]string{"-n", "19", "qemu-system-x86_64"}, m.qemu(cfg)...)...); err != nil {
			return err
		}
		if err := m.await(ctx); err != nil {
			return errors.Join(err, errors.New(tail(m.Console)), quit(context.WithoutCancel(ctx), m.path(monitorFile)))
		}
		return nil
	}
	run, kill := context.WithCancel(context.Background())
	m.kill = kill
	q := exec.CommandContext(run, "nice", append([]string{"-n", "19", "qemu-system-x86_64"}, m.qemu(cfg)...)...)
	var said bytes.Buffer
	q.Stderr = &said
	var end error
	go func() {
		end = vm.RunBound(q)
		close(m.ended)
	}()
	if err := m.await(ctx); err != nil {
		m.kill()
		<-m.ended
		return errors.Join(err, end, errors.New(said.String()), errors.New(tail(m.Console)))
	}
	return nil
}

func (m *Machine) path(name string) string { return filepath.Join(m.dir, name) }

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
		if m.Ended() {
			return errors.New("the node ended while it booted")
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

// Open finds a machine that another process started in dir, in this network namespace. It is not to be closed. The error is [ErrNone] if
// there is none.
func Open(dir string) (*Machine, error) {
	port, err := os.ReadFile(filepath.Join(dir, portFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w in %s", ErrNone, dir)
	}
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
