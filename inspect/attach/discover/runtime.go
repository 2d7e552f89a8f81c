package discover

import (
	"path"
	"strings"
)

// Runtime is the container runtime of a kubelet.
type Runtime struct {
	// Endpoint is as configured, Socket its path as the kubelet sees it, Open what to open it by from outside.
	Endpoint, Socket, Open string
	// Name is containerd or cri-o; "" where it is not known.
	Name string
	// Process is who listens there; nil where nobody does, or a stranger.
	Process *Process
	Log     Log
	// CNIDirs are its directories of CNI plugins, as it sees them.
	CNIDirs []string `json:",omitempty"`
	// SpansTo is where it sends its spans, by its environment; "" where it sends none.
	SpansTo string `json:",omitempty"`
	// Trouble says what is wrong with it; "" where all is well.
	Trouble string
}

// runtimeOf finds a kubelet's runtime by its endpoint.
func (t *table) runtimeOf(v View, kubelet *Process, endpoint string) Runtime {
	r := Runtime{Endpoint: endpoint}
	socket, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok {
		if strings.Contains(endpoint, "://") {
			r.Trouble = "its endpoint is not a unix socket"
			return r
		}
		socket = endpoint
	}
	r.Socket = path.Clean("/" + socket)
	full, err := within(v, kubelet.root(), r.Socket)
	if err != nil {
		r.Trouble = "its socket is not there: " + err.Error()
		return r
	}
	r.Open = path.Join("/", kubelet.Files, strings.TrimPrefix(full, kubelet.root()))
	own := strings.TrimPrefix(full, kubelet.root())
	table, err := read(v, procFile(kubelet.PID, "net/unix")) // of its network namespace
	if err != nil {
		r.Trouble = "the unix sockets of its network namespace cannot be read: " + err.Error()
	}
	for _, s := range unixListeners(string(table)) {
		// The path is as whoever bound it wrote it: /run/x and /var/run/x are one where /var/run is a link.
		same := s.path == own || s.path == r.Socket
		if !same {
			if other, err := within(v, kubelet.root(), s.path); err == nil {
				same = other == full
			}
		}
		if !same {
			continue
		}
		for _, h := range t.holders[s.inode] {
			p, err := t.process(v, h.pid)
			if err != nil || !h.socket || p.stranger() != "" || path.Base(p.Exe) == "systemd" {
				continue
			}
			r.Process = p
			r.Name = runtimeName(p)
			r.Log = t.logOf(v, p, "", 1)
			env := environ(v, p.PID)
			r.SpansTo = or(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], env["OTEL_EXPORTER_OTLP_ENDPOINT"])
			r.CNIDirs = cniDirs(v, p, r.Name)
			return r
		}
	}
	r.Name = nameBySocket(r.Socket)
	r.Trouble = or(r.Trouble, "nobody listens on its socket, as far as can be seen")
	return r
}

func runtimeName(p *Process) string {
	switch name := path.Base(p.Exe); {
	case strings.HasPrefix(name, "containerd"):
		return "containerd"
	case strings.HasPrefix(name, "crio"):
		return "cri-o"
	case name == "k3s", name == "rke2", name == "k0s":
		return "containerd" // embedded
	}
	return ""
}

func nameBySocket(socket string) string {
	switch {
	case strings.Contains(socket, "containerd"):
		return "containerd"
	case strings.Contains(socket, "crio"):
		return "cri-o"
	}
	return ""
}
