package discover

import (
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"
)

// machine is a recorded /proc with what is below the processes' roots.
type machine struct {
	fstest.MapFS
	tcp, unix string
	inode     uint64
}

// proc is a process of a machine.
type proc struct {
	pid, parent int
	exe         string
	args        []string
	uid         string // "" is root
	cgroup      string // of systemd's hierarchy
	users       string // its user namespace; "" is that of process 1
	mounts      string
	env         []string
	fd2         string            // what descriptor 2 links to
	files       map[string]string // below its root
	tcp         []string          // where it listens, as in /proc/net/tcp
	tcp6        []string
	unix        []string // sockets that it listens on
	reads       string   // a pipe that it reads
	writes      string   // a file that it writes
}

const (
	onServer  = "00000000:280A" // 0.0.0.0:10250
	onServer6 = "00000000000000000000000000000000:280A"
	onHealthz = "0100007F:2808" // 127.0.0.1:10248
)

func newMachine(procs ...proc) *machine {
	m := &machine{MapFS: fstest.MapFS{}, inode: 1000}
	m.proc(proc{pid: 1, exe: "/usr/lib/systemd/systemd", args: []string{"/sbin/init"}, cgroup: "/init.scope", files: map[string]string{"/run": ""}})
	tcp6 := ""
	for _, p := range procs {
		m.proc(p)
		tcp6 += m.listen(p, p.tcp6)
		m.tcp += m.listen(p, p.tcp)
		for _, path := range p.unix {
			m.inode++
			m.unix += fmt.Sprintf("0000000000000000: 00000002 00000000 00010000 0001 01 %d %s\n", m.inode, path)
			m.link(fmt.Sprintf("proc/%d/fd/%d", p.pid, m.inode), fmt.Sprintf("socket:[%d]", m.inode))
		}
	}
	m.file("proc/1/net/tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"+m.tcp)
	m.file("proc/1/net/tcp6", tcp6)
	for _, p := range procs {
		m.file(fmt.Sprintf("proc/%d/net/unix", p.pid), "Num       RefCount Protocol Flags    Type St Inode Path\n"+m.unix)
	}
	return m
}

func (m *machine) listen(p proc, all []string) (text string) {
	for _, addr := range all {
		m.inode++
		text += fmt.Sprintf("   0: %s 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 %d 1 0 100 0 0 10 0\n", addr, m.inode)
		m.link(fmt.Sprintf("proc/%d/fd/%d", p.pid, m.inode), fmt.Sprintf("socket:[%d]", m.inode))
	}
	return text
}

func (m *machine) file(name, text string) { m.MapFS[name] = &fstest.MapFile{Data: []byte(text)} }
func (m *machine) link(name, to string) {
	m.MapFS[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
}

func (m *machine) proc(p proc) {
	at := fmt.Sprintf("proc/%d/", p.pid)
	base := p.exe[strings.LastIndexByte(p.exe, '/')+1:]
	m.file(at+"stat", fmt.Sprintf("%d (%s) S %d 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 %d 1 1", p.pid, base[:min(len(base), 15)], p.parent, 5000+p.pid))
	m.file(at+"cmdline", strings.Join(p.args, "\x00")+"\x00")
	uid := or(p.uid, "0")
	m.file(at+"status", fmt.Sprintf("Name:\t%s\nUid:\t%s\t%s\t%s\t%s\n", base, uid, uid, uid, uid))
	m.file(at+"cgroup", "0::"+or(p.cgroup, "/")+"\n")
	m.file(at+"environ", strings.Join(p.env, "\x00")+"\x00")
	m.link(at+"exe", p.exe)
	m.link(at+"cwd", "/")
	m.link(at+"ns/user", or(p.users, "user:[4026531837]"))
	m.link(at+"ns/mnt", or(p.mounts, "mnt:[4026531841]"))
	if p.fd2 != "" {
		m.link(at+"fd/2", p.fd2)
	}
	if p.reads != "" {
		m.link(at+"fd/9", p.reads)
		m.file(at+"fdinfo/9", "pos:\t0\nflags:\t02000000\n")
	}
	if p.writes != "" {
		m.link(at+"fd/8", p.writes)
		m.file(at+"fdinfo/8", "pos:\t0\nflags:\t02102001\n")
	}
	for name, text := range p.files {
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			m.link(at+"root"+name, to)
		} else {
			m.file(at+"root"+name, text)
		}
	}
}
