package discover

import (
	"path"
	"slices"
	"strings"
)

// LogKind is where a program's log goes.
type LogKind string

// The kinds.
const (
	LogJournal  LogKind = "journal"
	LogFile     LogKind = "file"
	LogPipe     LogKind = "pipe" // to another program, which may write it somewhere
	LogTerminal LogKind = "terminal"
	LogNowhere  LogKind = "nowhere"
	LogUnknown  LogKind = "unknown"
)

// Log says where a program's log goes.
type Log struct {
	Kind LogKind
	// Unit is the systemd unit of a journal's entries.
	Unit string `json:",omitempty"`
	// Path is the file as the process sees it, Open what to open it by from outside.
	Path string `json:",omitempty"`
	Open string `json:",omitempty"`
	// Through is who reads the pipe and writes it on to Kind; nil where the process does it itself.
	Through *Process `json:",omitempty"`
	// Raw is what descriptor 2 links to.
	Raw string `json:",omitempty"`
}

// logOf finds out where a process's log goes. file is what its configuration says, "" for standard error.
func (t *table) logOf(v View, p *Process, file string, depth int) Log {
	if file != "" {
		return Log{Kind: LogFile, Path: file, Open: path.Join("/", p.Files, file)}
	}
	link, err := v.ReadLink(procFile(p.PID, "fd/2"))
	if err != nil {
		return Log{Kind: LogUnknown}
	}
	l := Log{Raw: link}
	if inode, ok := inodeOf(link, "socket"); ok {
		l.Kind = LogUnknown
		_, stream, _ := strings.Cut(environ(v, p.PID)["JOURNAL_STREAM"], ":")
		if got, ok := inodeOf("socket:["+stream+"]", "socket"); ok && got == inode && p.Unit != "" {
			l.Kind, l.Unit = LogJournal, p.Unit
		}
		return l
	}
	if inode, ok := inodeOf(link, "pipe"); ok {
		l.Kind = LogPipe
		reader := t.reader(v, p, inode)
		if reader == nil || depth == 0 {
			return l
		}
		if file := writes(v, reader, path.Base(p.Exe)+".log"); file != "" {
			l.Kind, l.Path, l.Open, l.Through = LogFile, file, path.Join("/", reader.Files, file), reader
			return l
		}
		on := t.logOf(v, reader, "", depth-1)
		if on.Kind == LogJournal || on.Kind == LogFile {
			on.Through, on.Raw = reader, link
			return on
		}
		l.Through = reader
		return l
	}
	switch {
	case link == "/dev/null":
		l.Kind = LogNowhere
	case strings.HasPrefix(link, "/dev/") && !strings.HasPrefix(link, "/dev/shm/"): // that has files
		l.Kind = LogTerminal
	case strings.HasSuffix(link, " (deleted)"):
		l.Kind, l.Path, l.Open = LogFile, strings.TrimSuffix(link, " (deleted)"), path.Join("/", procFile(p.PID, "fd/2"))
	case path.IsAbs(link):
		l.Kind, l.Path, l.Open = LogFile, link, path.Join("/", p.Files, link)
	default:
		l.Kind = LogUnknown
	}
	return l
}

// named is a log file that the user names: a path as this process sees it or, if there is none, as the kubelet does.
func named(v View, kubelet *Process, file string) Log {
	l := Log{Kind: LogFile, Path: file, Open: file}
	if kubelet.Files != "" && !exists(v, "", file) {
		l.Open = path.Join("/", kubelet.Files, file)
	}
	return l
}

// reader is who reads a pipe that a process writes to: its parent, if that has it, else the first that is no stranger.
func (t *table) reader(v View, p *Process, inode uint64) *Process {
	var pids []int
	for _, h := range t.holders[inode] {
		if h.socket || h.pid == p.PID || !reads(v, h) {
			continue
		}
		if h.pid == p.Parent {
			pids = slices.Insert(pids, 0, h.pid)
		} else {
			pids = append(pids, h.pid)
		}
	}
	for _, pid := range pids {
		if q, err := t.process(v, pid); err == nil && q.stranger() == "" {
			return q
		}
	}
	return nil
}

// maxFDs bounds how many descriptors of a process are looked at for a file.
const maxFDs = 4096

// writes is the file of that name that a process has open for writing, "" if there is none. rke2 writes its kubelet's lines so
// (pkg/logging/logging.go of rancher/rke2: it takes klog's flags out of the kubelet's arguments), and k3s and rke2 containerd's.
func writes(v View, p *Process, name string) string {
	fds, err := list(v, procFile(p.PID, "fd"))
	if err != nil {
		return ""
	}
	for _, fd := range fds[:min(len(fds), maxFDs)] {
		to, err := v.ReadLink(procFile(p.PID, "fd/"+fd))
		if err == nil && path.IsAbs(to) && path.Base(to) == name && access(v, holder{pid: p.PID, fd: fd}) != readOnly {
			return to
		}
	}
	return ""
}

// reads reports whether a descriptor is open for reading only, as the read end of a pipe is.
func reads(v View, h holder) bool { return access(v, h) == readOnly }

// readOnly is the access mode of a descriptor that is open for reading only.
const readOnly = 0

// access is the access mode of a descriptor, -1 if it is not known.
func access(v View, h holder) int {
	b, err := read(v, procFile(h.pid, "fdinfo/"+h.fd))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "flags:"); ok {
			if octal := strings.TrimSpace(rest); octal != "" {
				return int(octal[len(octal)-1]-'0') & 3
			}
		}
	}
	return -1
}
