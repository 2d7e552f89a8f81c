package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// DumpFile takes files out of the machine: what is written to it goes to [Machine].Dump.
const DumpFile = "/dev/ttyS2"

const (
	guestEnv = "KUBELOUPE_VM_GUEST"
	outFile  = "/dev/ttyS1"
	newRoot  = "/new"
)

// Inside reports whether this process is in a machine that [Run] made: its first one, or the program.
func Inside() bool {
	if os.Getenv(guestEnv) != "" {
		return true
	}
	_, err := os.Stat(setupFile)
	return os.Getpid() == 1 && err == nil
}

// Init sets the machine up, runs guest in a process of its own, which returns what to exit with, and switches the machine off. It does not
// return.
func Init(guest func(args []string) int) {
	if os.Getpid() != 1 {
		os.Exit(guest(os.Args[1:]))
	}
	code, err := first()
	if err != nil {
		say(fmt.Sprintf("vm: %v", err))
		code = -1
	}
	say(fmt.Sprintf("%s%d", markEnd, code))
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

func say(line string) {
	if f, err := os.OpenFile(outFile, os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString(line + "\n")
		_ = f.Close()
	}
}

// first is the machine's first process.
func first() (int, error) {
	text, err := os.ReadFile(setupFile)
	if err != nil {
		return 0, err
	}
	var s setup
	if err := json.Unmarshal(text, &s); err != nil {
		return 0, err
	}
	if err := switchRoot(); err != nil {
		return 0, fmt.Errorf("move to a root of its own: %w", err)
	}
	for _, m := range mounts(s.CgroupV1) {
		if err := m.do(); err != nil {
			return 0, err
		}
	}
	for _, port := range []string{outFile, DumpFile} {
		if err := raw(port); err != nil {
			return 0, fmt.Errorf("%s: %w", port, err)
		}
	}
	say(markUp)
	for _, m := range s.Modules {
		if err := load(m); err != nil {
			return 0, fmt.Errorf("module %s: %w", m, err)
		}
	}
	if err := loopback(); err != nil {
		return 0, fmt.Errorf("interface lo: %w", err)
	}
	files := unix.Rlimit{Cur: 1 << 16, Max: 1 << 16}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return 0, err
	}
	_ = unix.Sethostname([]byte("vm"))
	return program(s.Args)
}

// program runs this executable again, and reaps whatever ends meanwhile, until it has ended.
func program(args []string) (int, error) {
	out, err := os.OpenFile(outFile, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	env := append(os.Environ(), guestEnv+"=1", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	p, err := os.StartProcess("/init", append([]string{"/init"}, args...), &os.ProcAttr{Dir: "/", Env: env, Files: []*os.File{null, out, out}})
	if err != nil {
		return 0, err
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case pid == p.Pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == p.Pid && status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// switchRoot moves all files to a file system that can be pivoted away from, as runc does; the kernel's first one cannot.
func switchRoot() error {
	if err := os.Mkdir(newRoot, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("root", newRoot, "tmpfs", 0, "size=75%,mode=755"); err != nil {
		return err
	}
	err := filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(newRoot, path)
		switch {
		case err != nil:
			return err
		case path == newRoot:
			return filepath.SkipDir
		case path == "/":
			return nil
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, to)
		case d.Type().IsRegular():
			return move(path, to)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

func move(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Remove(from))
}

type mount struct {
	kind, at, options string
	flags             uintptr
}

func mounts(v1 bool) []mount {
	all := []mount{
		{kind: "proc", at: "/proc"},
		{kind: "sysfs", at: "/sys"},
		{kind: "devtmpfs", at: "/dev"},
		{kind: "devpts", at: "/dev/pts", options: "ptmxmode=0666"},
		{kind: "tmpfs", at: "/dev/shm"},
		{kind: "tmpfs", at: "/run"},
		{kind: "tmpfs", at: "/tmp", options: "mode=1777"},
		{kind: "", at: "/", flags: unix.MS_SHARED | unix.MS_REC},
	}
	if !v1 {
		return append(all, mount{kind: "cgroup2", at: "/sys/fs/cgroup"})
	}
	all = append(all, mount{kind: "tmpfs", at: "/sys/fs/cgroup"})
	for c := range strings.FieldsSeq("cpuset cpu,cpuacct memory devices freezer blkio pids hugetlb") {
		all = append(all, mount{kind: "cgroup", at: "/sys/fs/cgroup/" + c, options: c})
	}
	return all
}

func (m mount) do() error {
	if err := os.MkdirAll(m.at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.options); err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err)
	}
	return nil
}

func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.FinitModule(int(f.Fd()), "", 0)
}

func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// raw has a serial port pass bytes on as they are.
func raw(port string) error {
	f, err := os.OpenFile(port, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	t, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return err
	}
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
	t.Cflag = t.Cflag&^unix.CBAUD | unix.B115200
	return unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, t)
}

// RunBound runs a command from a thread that lives as long as it does: its parent's death ends it.
func RunBound(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}
