package discover

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// The ports that a kubelet listens on unless it is configured otherwise.
const (
	serverPort  = 10250
	healthzPort = 10248
)

const (
	maxPIDs      = 1 << 16
	maxSockets   = 1 << 18
	maxListeners = 1 << 12
)

// table is what runs on the machine: the processes of each socket and pipe, and who listens where.
type table struct {
	pids    []int
	holders map[uint64][]holder // by the inode of a socket or pipe
	tcp     []Listener
	home    int // in how many pods' cgroups process 1 is
}

// holder is a process that has a socket or pipe open.
type holder struct {
	pid    int
	fd     string
	socket bool
}

// scan reads /proc once.
func scan(v View) (*table, error) {
	names, err := list(v, "proc")
	if err != nil {
		return nil, fmt.Errorf("read /proc: %w", err)
	}
	t := &table{holders: map[uint64][]holder{}}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 && len(t.pids) < maxPIDs {
			t.pids = append(t.pids, pid)
		}
	}
	slices.Sort(t.pids)
	n := 0
	for _, pid := range t.pids {
		fds, err := list(v, procFile(pid, "fd"))
		if err != nil {
			continue // it has ended, or the rights are missing
		}
		for _, fd := range fds {
			link, err := v.ReadLink(procFile(pid, "fd/"+fd))
			if err != nil {
				continue
			}
			inode, socket := inodeOf(link, "socket")
			if !socket {
				var pipe bool
				if inode, pipe = inodeOf(link, "pipe"); !pipe {
					continue
				}
			}
			if n++; n < maxSockets {
				t.holders[inode] = append(t.holders[inode], holder{pid, fd, socket})
			}
		}
	}
	// Process 1's network is the node's, as this process's own mostly is, unless it is in a container.
	for _, name := range []string{"1/net/tcp", "1/net/tcp6", "self/net/tcp", "self/net/tcp6"} {
		b, err := read(v, "proc/"+name)
		if err != nil {
			continue
		}
		for _, l := range listeners(string(b)) {
			if !slices.Contains(t.tcp, l) && len(t.tcp) < maxListeners {
				t.tcp = append(t.tcp, l)
			}
		}
	}
	if b, err := read(v, procFile(1, "cgroup")); err == nil {
		t.home = podsIn(string(b))
	}
	return t, nil
}

// process reads what /proc has of a process, and whether it is in a pod of this node.
func (t *table) process(v View, pid int) (*Process, error) {
	p, err := process(v, pid)
	if err != nil {
		return nil, err
	}
	p.inPod = p.pods > t.home
	return p, nil
}

// holds returns the addresses that a process listens on.
func (t *table) holds(pid int) (out []Listener) {
	for _, l := range t.tcp {
		if slices.ContainsFunc(t.holders[l.inode], func(h holder) bool { return h.socket && h.pid == pid }) {
			out = append(out, l)
		}
	}
	return out
}

// Kind is the program that a kubelet is, or is part of.
type Kind string

// The kinds.
const (
	Kubelet  Kind = "kubelet"
	K3s      Kind = "k3s"      // within k3s server or k3s agent
	Kubelite Kind = "kubelite" // within microk8s
)

// kindOf tells a kubelet by its program; "" where it is none that is known.
func kindOf(p *Process) Kind {
	names := []string{path.Base(p.Exe)}
	if len(p.Args) > 0 {
		// hyperkube kubelet, k3s server: the name is not the file's. Some programs put all in one argument.
		names = append(names, path.Base(firstWord(p.Args[0])))
	}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "kubelet"): // also kubelet-1.37.1
			return Kubelet
		case name == "hyperkube" && len(p.Args) > 1 && p.Args[1] == "kubelet":
			return Kubelet
		case name == "k3s", strings.HasPrefix(name, "k3s-"):
			return K3s
		case name == "kubelite":
			return Kubelite
		}
	}
	return ""
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// Candidate is a process that listens where kubelets do, or is called as they are, and why it is not taken for one; "" for one that may be.
type Candidate struct {
	Process *Process
	Kind    Kind
	Listens []Listener
	Why     string
}

// candidates finds who may be a kubelet: by the listeners, else by the program's name.
func (t *table) candidates(v View) (out []Candidate) {
	seen := map[int]bool{}
	add := func(pid int, named bool) {
		if seen[pid] {
			return
		}
		seen[pid] = true
		p, err := t.process(v, pid)
		if err != nil {
			return
		}
		c := Candidate{Process: p, Kind: kindOf(p), Listens: t.holds(pid), Why: p.stranger()}
		switch {
		case c.Why == "" && c.Kind == "":
			c.Why = "it is not a program that is known to have a kubelet"
		case named && c.Kind == "":
			return
		}
		out = append(out, c)
	}
	for _, l := range t.tcp {
		if l.Port != serverPort && (l.Port != healthzPort || !l.Address.IsLoopback()) {
			continue
		}
		for _, h := range t.holders[l.inode] {
			if h.socket {
				add(h.pid, false)
			}
		}
	}
	if !slices.ContainsFunc(out, func(c Candidate) bool { return c.Why == "" }) { // its ports may be others
		for _, pid := range t.pids {
			if link, err := v.ReadLink(procFile(pid, "exe")); err == nil && kindOf(&Process{Exe: strings.TrimSuffix(link, " (deleted)")}) != "" {
				add(pid, true)
			}
		}
	}
	sorting.Stable(out, func(a, b *Candidate) int { return cmp.Compare(a.Process.PID, b.Process.PID) })
	return out
}

// ErrNoKubelet says that no kubelet was found.
var ErrNoKubelet = errors.New("no kubelet was found")

// toHelp says what helps where no kubelet was found.
const toHelp = "name its process with --pid; attach needs root, and in a container the node's processes (hostPID)"

// choose returns the kubelet among the candidates.
func choose(all []Candidate) (Candidate, error) {
	var may []Candidate
	for _, c := range all {
		if c.Why == "" {
			may = append(may, c)
		}
	}
	switch {
	case len(may) == 1:
		return may[0], nil
	case len(may) > 1:
		var pids []string
		for _, c := range may {
			pids = append(pids, strconv.Itoa(c.Process.PID))
		}
		return Candidate{}, fmt.Errorf("there are several kubelets, processes %s: name one with --pid", strings.Join(pids, ", "))
	case len(all) > 0:
		c := all[0]
		return Candidate{}, fmt.Errorf("%w: process %d (%s) listens on its port or has its name, but %s; if there is another one, %s", ErrNoKubelet, c.Process.PID, c.Process.Comm, c.Why, toHelp)
	}
	return Candidate{}, fmt.Errorf("%w: no process listens on port %d or on 127.0.0.1:%d, and none is called kubelet, k3s or kubelite; if one runs here, %s",
		ErrNoKubelet, serverPort, healthzPort, toHelp)
}
