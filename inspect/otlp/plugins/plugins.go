// Package plugins observes the runs of CNI plugins, because containerd has only one span for the whole chain of a network. It also
// observes other programs in such directories, for example exec credential providers, whose environment it never reads.
//
// It owns a fanotify group with a mark on each existing directory of plugins, and a table of the running ones. A directory may be
// created later, removed, or replaced: inotify on it and on its parents reports this, and the mark follows within milliseconds;
// runs in between are missed. The kernel reports the start and the end of a program, and the variables of the CNI specification in
// its environment name the sandbox; the package reads a limited part of the environment and nothing else of the process. Every user
// of the machine may run these programs, with any environment, and so may root in a container that has the directory: only runs of
// root count that the runtime, or a child of the runtime, started. It never delays a program (it has no permission events), never
// runs one, and does not know the exit status: the runtime's error has it. Times are when the kernel's event was read, so they are
// late by the time to wake this process.
//
// Run has one goroutine besides its caller's, which follows the directories. It needs Linux 5.0 and CAP_SYS_ADMIN. It publishes
// nothing: Config.Done gets each run.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Precision is how late a run's begin and end are noticed while this process has a processor.
const Precision = time.Millisecond

// Exec is one run of a plugin.
type Exec struct {
	// Plugin is the program's name, such as bridge.
	Plugin string
	// Command is ADD, DEL, CHECK, STATUS, GC or VERSION.
	Command string
	// IfName is the interface in the pod, Sandbox its container id.
	IfName, Sandbox string
	// Pod is as the runtime put it into CNI_ARGS; zero where it did not.
	Pod   trace.Pod
	Start time.Time
	Dur   time.Duration
	// ID is the run's span. Parent is the span of the plugin that ran it (for example, bridge runs host-local), and 0 if the
	// runtime ran it.
	ID, Parent trace.SpanID
}

// Event is the run as a span of the network's setup or removal.
func (e *Exec) Event() trace.RuntimeSpan {
	return trace.RuntimeSpan{
		Name: trace.SpanCNIPlugin + short(e.Plugin), Service: "kubeloupe", Start: e.Start.UnixNano(), Dur: max(e.Dur, 0),
		Attrs: []trace.KV{{K: "cni.command", V: e.Command}, {K: "cni.ifname", V: e.IfName}, {K: "sandbox.id", V: e.Sandbox}},
	}
}

// Config says what to watch.
type Config struct {
	// Dirs are the directories of CNI plugins, such as /opt/cni/bin.
	Dirs []string
	// Runtime is the path of the runtime's socket: only runs by its process count. If it is empty, or the process is unknown (in
	// another PID namespace), all runs of root count.
	Runtime string
	// PID is the process whose runs count, instead of the runtime's: only its own and those of its children; 0 is none.
	PID int
	// Silent says that these programs are not CNI plugins: nothing of their environment is read, and each run counts.
	Silent bool
	// Stranger is called for a program that does not count, with why. It may be nil.
	Stranger func(why string)
	// Done is called for each run that is finished.
	Done func(Exec)
	// Missing is called when a directory is not there, at the start or since now. It is waited
	// for. It may be nil.
	Missing func(dir string)
}

// Watcher watches plugins. Make it with New.
type Watcher struct{ cfg Config }

// ErrUnsupported says that this system or process cannot watch programs.
var ErrUnsupported = errors.New("watching runs of plugins needs Linux 5.0 or later and CAP_SYS_ADMIN")

// New checks the configuration.
func New(cfg Config) (*Watcher, error) {
	for _, d := range cfg.Dirs {
		if !filepath.IsAbs(d) {
			return nil, fmt.Errorf("directory of CNI plugins %q: want an absolute path", d)
		}
	}
	if len(cfg.Dirs) == 0 {
		return nil, errors.New("no directory of CNI plugins to watch")
	}
	return &Watcher{cfg: cfg}, nil
}

// Run watches until ctx ends, which is no error. Where that is not possible at all, the error
// is ErrUnsupported.
func (w *Watcher) Run(ctx context.Context) error { return w.run(ctx) }

// describe takes what CNI says from an environment. It is false while there is nothing of CNI
// in it: then the program has not taken over yet.
func describe(environ []byte) (e Exec, ok bool) {
	for kv := range strings.SplitSeq(string(environ), "\x00") {
		k, v, _ := strings.Cut(kv, "=")
		switch k {
		case "CNI_COMMAND":
			e.Command, ok = short(v), true
		case "CNI_IFNAME":
			e.IfName = short(v)
		case "CNI_CONTAINERID":
			e.Sandbox = short(v)
		case "CNI_ARGS":
			e.Pod = podOf(v)
		}
	}
	return e, ok
}

// short is at most as much of a value as any name in Kubernetes has. Longer ones name nothing.
func short(v string) string {
	const longest = 253
	return strings.Clone(v[:min(len(v), longest)]) // it keeps nothing else of the environment
}

// podOf reads CNI_ARGS as the runtimes write it.
func podOf(args string) (p trace.Pod) {
	for kv := range strings.SplitSeq(args, ";") {
		k, v, _ := strings.Cut(kv, "=")
		switch k {
		case "K8S_POD_NAMESPACE":
			p.Namespace = short(v)
		case "K8S_POD_NAME":
			p.Name = short(v)
		case "K8S_POD_UID":
			p.UID = short(v)
		}
	}
	return p
}
