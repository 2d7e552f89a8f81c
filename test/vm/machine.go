package vm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Machine is a virtual machine to run this program in.
type Machine struct {
	// Args are what the program is called with there, after its name.
	Args []string
	// Tree is what the machine has besides this program, busybox and the kernel's modules.
	Tree []File
	// CgroupV1 has it mount the controllers of cgroup v1, each by itself, instead of cgroup v2.
	CgroupV1 bool
	// MemoryMiB is 2048 unless given, and there are two processors.
	MemoryMiB int
	// Stdout receives what the program prints to its stdout and stderr, Console what the kernel says, Dump what it writes to [DumpFile].
	// nil discards.
	Stdout, Console, Dump io.Writer
}

// setup is the file that tells the machine's first process what to do.
type setup struct {
	Args     []string
	Modules  []string
	CgroupV1 bool
}

const (
	setupFile  = "/vm.json"
	modulesDir = "/modules"
	markUp     = "vm: up"
	markEnd    = "vm: ended with "
	// boots is how often it is tried: one boot in ten panics early in the kernel, whose patching of code emulation does not always bear.
	boots = 5
)

// errBoot says that the kernel did not come to run the program.
var errBoot = errors.New("the machine did not boot")

// Run boots the machine and waits until its program has ended, whose failure is an error. When ctx ends, so does the machine.
func Run(ctx context.Context, m Machine) error {
	k, err := findKernel(ctx)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		return errors.New("no qemu-system-x86_64: run as root: apt-get install --no-install-recommends qemu-system-x86")
	}
	dir, err := os.MkdirTemp("", "kl-vm-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	initrd := filepath.Join(dir, "initrd")
	if err := m.write(ctx, k, initrd); err != nil {
		return fmt.Errorf("the machine's files: %w", err)
	}
	for range boots {
		if err = m.boot(ctx, k, initrd); !errors.Is(err, errBoot) {
			return err
		}
	}
	return err
}

// write makes the archive of the machine's first file system.
func (m *Machine) write(ctx context.Context, k *kernel, path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return errors.New("no busybox: run as root: apt-get install busybox-static")
	}
	applets, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return err
	}
	s := setup{Args: m.Args, CgroupV1: m.CgroupV1}
	files := []File{{Path: "/init", From: self, Mode: 0o755}, {Path: "/bin/busybox", From: busybox, Mode: 0o755}}
	files = append(files, links("/bin", "/bin/busybox", strings.Fields(strings.ReplaceAll(string(applets), "busybox\n", "")))...)
	for _, from := range k.modules {
		to := filepath.Join(modulesDir, filepath.Base(from))
		s.Modules = append(s.Modules, to)
		files = append(files, File{Path: to, From: from})
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	files = append(files, File{Path: setupFile, Text: string(text)})
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	err = writeTree(out, append(files, m.Tree...))
	return errors.Join(err, out.Close())
}

// boot runs the machine once.
func (m *Machine) boot(ctx context.Context, k *kernel, initrd string) error {
	memory := m.MemoryMiB
	if memory == 0 {
		memory = 2048
	}
	args := []string{
		"-accel", "tcg,thread=multi", "-cpu", "max,-la57,-vmx", "-smp", "2", "-m", strconv.Itoa(memory),
		"-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot", "-kernel", k.image, "-initrd", initrd,
		"-append", "console=ttyS0 mitigations=off panic=-1 quiet loglevel=4 psi=1",
	}
	// Three serial ports: the kernel's, the program's, and one for files.
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	var pipes []*os.File
	var copying sync.WaitGroup
	program := &follower{out: orDiscard(m.Stdout)}
	for i, to := range []io.Writer{orDiscard(m.Console), program, orDiscard(m.Dump)} {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, w)
		pipes = append(pipes, w)
		id := "s" + strconv.Itoa(i)
		cmd.Args = append(cmd.Args, "-chardev", fmt.Sprintf("file,id=%s,path=/dev/fd/%d", id, 3+i), "-serial", "chardev:"+id)
		copying.Go(func() {
			_, _ = io.Copy(to, r)
			_ = r.Close()
		})
	}
	err := RunBound(cmd)
	for _, p := range pipes {
		_ = p.Close()
	}
	copying.Wait()
	program.flush()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("qemu: %w: %s", err, said.String())
	case !program.up:
		return errBoot
	case program.end == "":
		return errors.New("the machine ended before its program: see what its kernel said")
	case program.end != "0":
		return fmt.Errorf("the machine's program ended with %s", program.end)
	}
	return nil
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// follower passes the program's lines on, and reads those of the machine's first process.
type follower struct {
	out  io.Writer
	rest []byte
	up   bool
	end  string
}

func (f *follower) Write(p []byte) (int, error) {
	f.rest = append(f.rest, p...)
	for {
		line, rest, ok := bytes.Cut(f.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		f.line(strings.TrimRight(string(line), "\r"))
		f.rest = bytes.Clone(rest)
	}
}

func (f *follower) flush() {
	s := bufio.NewScanner(bytes.NewReader(f.rest))
	for s.Scan() {
		f.line(s.Text())
	}
	f.rest = nil
}

func (f *follower) line(s string) {
	switch {
	case s == markUp:
		f.up = true
	case strings.HasPrefix(s, markEnd):
		f.end = strings.TrimPrefix(s, markEnd)
	default:
		_, _ = fmt.Fprintln(f.out, s)
	}
}
