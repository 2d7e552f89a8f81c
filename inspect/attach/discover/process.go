package discover

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is what the kernel says of a process. Its name, arguments and environment are the process's own words.
type Process struct {
	PID, Parent int
	// Began is when it began, in the kernel's ticks since the machine started: with PID it names one process for good.
	Began uint64
	Comm  string
	// Exe is the program's file as the process sees it.
	Exe  string
	Args []string
	// Cgroup is the path of its cgroup (systemd's hierarchy on cgroup v1), as this process sees it.
	Cgroup string
	// Unit is the systemd unit in that; "" where there is none.
	Unit string
	// OwnMounts says that it does not share the mount namespace of process 1.
	OwnMounts bool
	// Files is what its paths begin with as seen from here; "" where it sees the same files.
	Files string

	uid      string
	ownUsers bool // its user namespace is not that of process 1
	pods     int  // how many cgroups of pods it is in
	inPod    bool
	hidden   bool // the rights to look at it are missing
}

// root is where the process's files are in a View.
func (p *Process) root() string { return fmt.Sprintf("proc/%d/root", p.PID) }

func procFile(pid int, name string) string { return path.Join("proc", strconv.Itoa(pid), name) }

// process reads what /proc has of a process.
func process(v View, pid int) (*Process, error) {
	p := &Process{PID: pid}
	stat, err := read(v, procFile(pid, "stat"))
	if err != nil {
		return nil, err
	}
	// pid (comm) state ppid ...: comm may hold anything.
	open, end := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
	if open < 0 || end < open {
		return nil, fmt.Errorf("/proc/%d/stat: not understood", pid)
	}
	p.Comm = string(stat[open+1 : end])
	if f := strings.Fields(string(stat[end+1:])); len(f) > 19 {
		p.Parent, _ = strconv.Atoi(f[1])
		p.Began, _ = strconv.ParseUint(f[19], 10, 64)
	}
	if p.Exe, err = v.ReadLink(procFile(pid, "exe")); err != nil {
		p.hidden = true
	}
	p.Exe = strings.TrimSuffix(p.Exe, " (deleted)")
	if b, err := read(v, procFile(pid, "cmdline")); err == nil {
		p.Args = splitNUL(b)
	}
	if b, err := read(v, procFile(pid, "status")); err == nil {
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "Uid:"); ok {
				if f := strings.Fields(rest); len(f) > 1 {
					p.uid = f[1] // the effective one
				}
			}
		}
	}
	if b, err := read(v, procFile(pid, "cgroup")); err == nil {
		p.Cgroup = cgroupOf(string(b))
		p.Unit = unitOf(p.Cgroup)
		p.pods = podsIn(string(b))
	}
	p.ownUsers = otherNamespace(v, pid, "user")
	p.OwnMounts = otherNamespace(v, pid, "mnt")
	p.Files = filesOf(v, p)
	return p, nil
}

// otherNamespace reports whether a process has another namespace than process 1.
func otherNamespace(v View, pid int, kind string) bool {
	first, err := v.ReadLink(procFile(1, "ns/"+kind))
	if err != nil && kind == "user" { // process 1 has more capabilities than this one; attach runs in the node's user namespace
		first, err = v.ReadLink("proc/self/ns/user")
	}
	own, err2 := v.ReadLink(procFile(pid, "ns/"+kind))
	return err == nil && err2 == nil && first != own
}

// filesOf is what a process's paths begin with as seen from here. What outlives the process is taken where it can be: attach outlives the
// kubelet's restarts.
func filesOf(v View, p *Process) string {
	root, err := v.ReadLink(procFile(p.PID, "root"))
	if p.OwnMounts || err == nil && root != "/" {
		return "/" + p.root()
	}
	here, err := v.ReadLink("proc/self/ns/mnt")
	own, err2 := v.ReadLink(procFile(p.PID, "ns/mnt"))
	if err != nil || err2 != nil || here == own {
		return ""
	}
	if _, err := v.ReadLink(procFile(1, "ns/mnt")); err != nil { // process 1 has more capabilities than this one
		return "/" + p.root()
	}
	return "/proc/1/root"
}

// Ended reports whether a process that was found is no more.
func Ended(v View, p *Process) bool {
	now, err := process(v, p.PID)
	return err != nil || now.Began != p.Began
}

// Since is when the process began; zero where that cannot be known.
func (p *Process) Since(v View) time.Time {
	const ticks = 100 // a second: the kernel's constant for all that it tells
	b, err := read(v, "proc/stat")
	if err != nil {
		return time.Time{}
	}
	for line := range strings.Lines(string(b)) {
		if boot, ok := strings.CutPrefix(line, "btime "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(boot), 10, 64)
			if err == nil && n > 0 {
				return time.Unix(n, 0).Add(time.Duration(p.Began) * (time.Second / ticks))
			}
		}
	}
	return time.Time{}
}

// environ is what a process's environment was when it began.
func environ(v View, pid int) map[string]string {
	b, err := read(v, procFile(pid, "environ"))
	if err != nil {
		return nil
	}
	env := map[string]string{}
	for _, kv := range splitNUL(b) {
		if k, val, ok := strings.Cut(kv, "="); ok {
			env[k] = val
		}
	}
	return env
}

// splitNUL divides what /proc ends with NULs. Programs that rewrite their arguments leave empty ones at the end.
func splitNUL(b []byte) []string {
	out := strings.Split(string(b), "\x00")
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// cgroupOf is the path in systemd's hierarchy of a /proc/PID/cgroup, else that of cgroup v2, else the longest one.
func cgroupOf(text string) (found string) {
	rank := 0
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		r := 1
		switch {
		case f[1] == "name=systemd" && f[2] != "/":
			r = 3
		case f[0] == "0" && f[1] == "" && f[2] != "/":
			r = 2
		}
		if r > rank || r == rank && len(f[2]) > len(found) {
			rank, found = r, f[2]
		}
	}
	return found
}

// unitOf is the innermost systemd unit of a cgroup's path.
func unitOf(cgroup string) string {
	for _, part := range slices.Backward(strings.Split(cgroup, "/")) {
		if strings.HasSuffix(part, ".service") {
			return part
		}
	}
	return ""
}
