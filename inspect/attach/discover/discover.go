package discover

import (
	"fmt"
	"net/netip"
	"path"
	"time"
)

// Options says what to look for.
type Options struct {
	// PID is the kubelet's process where the user names it; 0 finds it.
	PID int
	// RootDir selects, among several kubelets, the one with that root directory; "" takes none.
	RootDir string
	// RuntimeEndpoint takes the place of the configured one where the user names it.
	RuntimeEndpoint string
	// LogFile takes the place of where the log is found to go. It is a path as this process sees it or, if there is none, as the kubelet does.
	LogFile string
	// RuntimeLog is the same for the container runtime's log.
	RuntimeLog string
	// Kubeconfig is a file for the API server, as this process sees it. InCluster uses the service account of the pod that this process runs in.
	// Without both, no API server is used.
	Kubeconfig string
	InCluster  bool
	// KubeletKubeconfig is a file for the kubelet's own API, as this process sees it.
	KubeletKubeconfig string
}

// Found is a kubelet and what there is to see it by.
type Found struct {
	Kind    Kind
	Process *Process
	Version string `json:",omitempty"`
	Listens []string
	Config  Config
	Log     Log
	// Zone is the kubelet's time zone; nil is this process's own.
	Zone    *time.Location `json:"-"`
	Runtime Runtime
	// RuntimeVersion is the runtime's, by its file.
	RuntimeVersion string `json:",omitempty"`
	// Rights on the kubelet's API; nil where there are none.
	Rights *Rights `json:",omitempty"`
	// Access to the API server; nil where there is none.
	Access *Access `json:",omitempty"`
	// PodsAPI is the path of its socket as seen from outside; "" where there is none.
	PodsAPI string `json:",omitempty"`
	// PodResources is the path of the socket of the podresources API as seen from outside; "" where there is none.
	PodResources string `json:",omitempty"`
	// NUMA are the machine's NUMA nodes; none where the kernel does not show them.
	NUMA []NUMANode `json:",omitempty"`
	// Strangers are processes that were not taken for a kubelet, with the reason.
	Strangers []string `json:",omitempty"`
	// Sources are what the kubelet can be seen by.
	Sources []Source

	administrator string // an administrator's kubeconfig, as the kubelet's process sees it; "" for none
	options       Options
}

// Again finds the kubelet that was started in the place of this one: with the same root directory, and with what the user named.
func (f *Found) Again(v View) (*Found, error) {
	o := f.options
	o.PID, o.RootDir = 0, f.Config.RootDir
	return Discover(v, o)
}

// Outside is a path of the kubelet as seen from outside.
func (f *Found) Outside(name string) string { return path.Join("/", f.Process.Files, name) }

// rooted leaves out the candidates with another root directory.
func rooted(v View, all []Candidate, dir string) (out []Candidate) {
	if dir == "" {
		return all
	}
	for _, c := range all {
		if c.Why == "" {
			args, _ := flagsOf(v, c.Process, c.Kind, environ(v, c.Process.PID))
			if configOf(v, c.Process, args).RootDir != dir {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// API is the address of the kubelet's API: the loopback one, where it listens there.
func (f *Found) API() string {
	port := uint16(f.Config.Port)
	for _, l := range f.Listens {
		if at, err := netip.ParseAddrPort(l); err == nil && at.Port() == port && !at.Addr().IsUnspecified() {
			return l
		}
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port).String()
}

// ReadOnly is the address of the kubelet's read-only port; "" where it does not listen there.
func (f *Found) ReadOnly() string {
	for _, l := range f.Listens {
		at, err := netip.ParseAddrPort(l)
		switch {
		case err != nil || f.Config.ReadOnlyPort == 0 || int(at.Port()) != f.Config.ReadOnlyPort:
		case at.Addr().IsUnspecified():
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
		default:
			return l
		}
	}
	return ""
}

// Discover finds the machine's kubelet. The error says why there is none.
func Discover(v View, o Options) (*Found, error) {
	t, err := scan(v)
	if err != nil {
		return nil, err
	}
	all := t.candidates(v)
	c := Candidate{}
	if o.PID != 0 {
		p, err := t.process(v, o.PID)
		if err != nil {
			return nil, fmt.Errorf("--pid %d: there is no such process", o.PID)
		}
		c = Candidate{Process: p, Kind: kindOf(p), Listens: t.holds(o.PID)}
		if why := p.stranger(); why != "" {
			return nil, fmt.Errorf("--pid %d is not the node's kubelet: %s", o.PID, why)
		}
		if c.Kind == "" {
			c.Kind = Kubelet
		}
	} else if c, err = choose(rooted(v, all, o.RootDir)); err != nil {
		return nil, err
	}
	if c.Process.hidden {
		return nil, fmt.Errorf("process %d is the kubelet, but this user cannot look at it: attach needs root, in a container also hostPID and CAP_SYS_PTRACE", c.Process.PID)
	}
	f := &Found{Kind: c.Kind, Process: c.Process, Version: versionOf(v, c.Process), options: o}
	for _, l := range c.Listens {
		f.Listens = append(f.Listens, l.String())
	}
	for _, other := range all {
		if other.Process.PID != c.Process.PID && other.Why != "" && other.Why != "it is not a program that is known to have a kubelet" {
			f.Strangers = append(f.Strangers, fmt.Sprintf("process %d (%s): %s", other.Process.PID, other.Process.Comm, other.Why))
		}
	}
	env := environ(v, c.Process.PID)
	args, files := flagsOf(v, c.Process, c.Kind, env)
	f.Config = configOf(v, c.Process, args)
	f.Zone = zoneOf(v, c.Process, env)
	f.Config.Files = append(files, f.Config.Files...)
	f.Log = t.logOf(v, c.Process, f.Config.LogFile, 2)
	if o.LogFile != "" {
		f.Log = named(v, c.Process, o.LogFile)
	}
	f.Runtime = t.runtimeOf(v, c.Process, or(o.RuntimeEndpoint, f.Config.RuntimeEndpoint))
	if o.RuntimeLog != "" {
		f.Runtime.Log = named(v, c.Process, o.RuntimeLog)
	}
	if f.Runtime.Process != nil {
		f.RuntimeVersion = versionOf(v, f.Runtime.Process)
	}
	f.Rights = rightsOn(v, c.Process.root(), args)
	f.Access, f.administrator = accessBy(o), administratorOn(v, c.Process.root())
	if o.KubeletKubeconfig != "" {
		f.Rights = &Rights{Who: "the kubeconfig " + o.KubeletKubeconfig, Kubeconfig: o.KubeletKubeconfig, Named: true}
	} else if o.InCluster {
		f.Rights = &Rights{Who: "this pod's service account", InCluster: true}
	}
	if api := path.Join(f.Config.RootDir, "pods-api/pods-api.sock"); exists(v, c.Process.root(), api) {
		f.PodsAPI = f.Outside(api)
	}
	if api := path.Join(f.Config.RootDir, podResourcesSocket); exists(v, c.Process.root(), api) {
		f.PodResources, f.NUMA = f.Outside(api), numaOf(v)
	}
	f.Sources = sourcesOf(v, f)
	return f, nil
}
