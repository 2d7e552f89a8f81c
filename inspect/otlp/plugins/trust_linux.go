package plugins

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// trust knows whose runs count: root's, of the process that listens at the runtime's socket and of those that it began. What /proc says of
// a process the kernel writes; only its name is its own.
type trust struct {
	socket   string // empty: any of root's, or of a process that is known
	only     int    // that process; 0 is none
	stranger func(why string)
	pid      int    // of the runtime, 0 not known
	born     string // when that process began, as the kernel counts
	asked    time.Time
}

const (
	maxAncestors = 16
	askEvery     = 100 * time.Millisecond
	askTime      = 100 * time.Millisecond
)

// counts reports whether a program that a process runs is a plugin's run.
func (t *trust) counts(pid int) bool {
	why := t.why(pid)
	if why != "" && t.stranger != nil {
		t.stranger(why)
	}
	return why == ""
}

// why says why a process does not count, "" for one that does.
func (t *trust) why(pid int) string {
	uids, err := uidsOf(pid)
	switch {
	case err != nil:
		return "its process is gone"
	case uids[0] != 0 || uids[1] != 0:
		return fmt.Sprintf("uid %d ran it: only the runtime's runs as root count", uids[0])
	case t.socket == "" && t.only == 0:
		return ""
	}
	runtime, err := t.only, error(nil)
	if runtime == 0 {
		runtime, err = t.runtime()
	}
	if err != nil {
		return "the process of the runtime is not known: " + err.Error()
	}
	if runtime == 0 {
		return ""
	}
	for range maxAncestors {
		if pid == runtime {
			return ""
		}
		if pid = parentOf(pid); pid == 0 {
			break
		}
	}
	if t.only != 0 {
		return fmt.Sprintf("another process than %d ran it", t.only)
	}
	return "another process than the runtime ran it"
}

// runtime returns the process that listens at the socket; 0 where it is in another PID namespace.
func (t *trust) runtime() (int, error) {
	if t.pid != 0 && bornAt(t.pid) == t.born {
		return t.pid, nil
	}
	if time.Since(t.asked) < askEvery {
		return 0, errors.New("it will be checked again")
	}
	t.asked = time.Now()
	pid, err := listener(t.socket)
	if err != nil {
		return 0, err
	}
	t.pid, t.born = pid, bornAt(pid)
	return pid, nil
}

// listener returns who began to listen at a socket.
func listener(socket string) (pid int, err error) {
	c, err := net.DialTimeout("unix", socket, askTime)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("%T: no unix socket", c)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var bad error
	err = raw.Control(func(fd uintptr) { cred, bad = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, bad); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// uidsOf returns a process's real and effective user, as this process's user namespace has them.
func uidsOf(pid int) (uids [2]int, err error) {
	b, err := readProc(pid, "status")
	if err != nil {
		return uids, err
	}
	for line := range bytes.Lines(b) { // the name, of which newlines are escaped, comes before
		rest, ok := bytes.CutPrefix(line, []byte("Uid:"))
		if f := bytes.Fields(rest); ok && len(f) >= 2 {
			for i := range uids {
				if uids[i], err = strconv.Atoi(string(f[i])); err != nil {
					return uids, err
				}
			}
			return uids, nil
		}
	}
	return uids, errors.New("no Uid")
}

// statOf returns the fields of a process's stat after its name, from its state on; nil when it is gone.
func statOf(pid int) [][]byte {
	b, err := readProc(pid, "stat")
	if err != nil {
		return nil
	}
	return bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the name may hold anything
}

// bornAt returns when a process began.
func bornAt(pid int) string {
	if f := statOf(pid); len(f) > 19 {
		return string(f[19])
	}
	return ""
}

// parentOf returns the parent of a process, 0 when it is not known.
func parentOf(pid int) int {
	f := statOf(pid)
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(string(f[1])) // 0 is no process
	return n
}

// readProc reads a file of a process, which the kernel writes, up to 64 KiB.
func readProc(pid int, name string) ([]byte, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxEnviron))
}
