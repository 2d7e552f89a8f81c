package stats

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	descriptors = "container_file_descriptors"
	sockets     = "container_sockets"
	// openFiles is the only soft limit that cAdvisor has: of the first process.
	openFiles = "max_open_files"
	// maxProcesses limits of how many processes of a cgroup the open files are counted, maxDescriptors how many files of all of them. If
	// there are more, their number is unknown: a container decides how many it has, and each costs the kernel an inode when it is listed.
	maxProcesses, maxDescriptors = 1 << 10, 1 << 14
)

// processes adds the numbers of processes and threads, the limit of the first one, and what the processes have open. The maximum is 0 if there is none.
// A cgroup that has only cgroups in it has no process itself.
//
// Upstream: github.com/google/cadvisor/lib/container/libcontainer/handler.go, processStatsFromProcs.
func (s *Stats) processes(f *figures, path string) {
	if list, ok := s.tree.text("cpu", path, "cgroup.procs"); ok {
		pids := strings.Fields(list)
		f.set("container_processes", uint64(len(pids)), true, 1)
		if len(pids) > 0 {
			f.pid = pids[0]
			limits, _ := text(filepath.Join(s.cfg.Proc, f.pid, "limits"))
			if n, ok := softLimit(limits); ok {
				f.values[openFiles] = n
			}
		}
		if path != top {
			s.open(f, pids)
		}
	}
	threads, ok := s.tree.number("pids", path, "pids.current")
	f.set("container_threads", threads, ok, 1)
	if limit, has := s.tree.text("pids", path, "pids.max"); has {
		n, err := strconv.ParseUint(strings.TrimSpace(limit), 10, 64)
		if err != nil {
			n = 0
		}
		f.set("container_threads_max", n, true, 1)
	}
}

// open adds the numbers of open files and sockets of processes.
func (s *Stats) open(f *figures, pids []string) {
	if len(pids) > maxProcesses {
		return
	}
	var files, socks uint64
	for _, pid := range pids {
		n, of, ok := opened(filepath.Join(s.cfg.Proc, pid, "fd"), maxDescriptors-files)
		if !ok {
			return
		}
		files, socks = files+n, socks+of
	}
	f.set(descriptors, files, true, 1)
	f.set(sockets, socks, true, 1)
}

// opened counts the links in a directory of /proc, and those to sockets; false if there are more than limit. A process that has ended
// has none.
func opened(dir string, limit uint64) (files, socks uint64, ok bool) {
	d, err := os.Open(dir)
	if err != nil {
		return 0, 0, true
	}
	defer d.Close() //nolint:errcheck // it was only read
	for {
		names, err := d.Readdirnames(256)
		if files += uint64(len(names)); files > limit {
			return 0, 0, false
		}
		for _, name := range names {
			if to, err := os.Readlink(filepath.Join(dir, name)); err == nil && strings.HasPrefix(to, "socket:") {
				socks++
			}
		}
		if err != nil {
			return files, socks, true
		}
	}
}

// softLimit finds the limit of open files in /proc/PID/limits; -1 is none.
func softLimit(limits string) (float64, bool) {
	for line := range strings.Lines(limits) {
		rest, is := strings.CutPrefix(line, "Max open files")
		f := strings.Fields(rest)
		if !is || len(f) == 0 {
			continue
		}
		if f[0] == "unlimited" {
			return -1, true
		}
		n, err := strconv.ParseUint(f[0], 10, 64)
		return float64(n), err == nil
	}
	return 0, false
}
