package discover

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// String says where a log goes.
func (l Log) String() string {
	text := string(l.Kind)
	switch l.Kind {
	case LogJournal:
		text = "journal of " + l.Unit
	case LogFile:
		text = "file " + l.Path
	case LogPipe:
		text = "a pipe"
	case LogTerminal:
		text = "terminal " + l.Raw
	case LogNowhere, LogUnknown:
	}
	if l.Through != nil && l.Kind != LogPipe {
		text += fmt.Sprintf(" (by process %d, %s)", l.Through.PID, l.Through.Comm)
	}
	return text
}

// String names a process.
func (p *Process) String() string {
	text := fmt.Sprintf("process %d, %s", p.PID, p.Exe)
	if p.Unit != "" {
		text += ", unit " + p.Unit
	}
	if p.OwnMounts {
		text += ", in its own mount namespace"
	}
	return text
}

// Write writes what was found as text. Characters that could act on a terminal are written out: pods can choose some of what is shown.
func (f *Found) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(human.Writer(w), 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(tw, "%s\t%s\n", name, fmt.Sprintf(format, args...)) //nolint:errcheck // Flush tells
	}
	version := or(f.Version, "version not known")
	within := ""
	if f.Kind != Kubelet {
		within = " within " + string(f.Kind)
	}
	row("kubelet", "%s%s, %s", version, within, f.Process)
	row("listens on", "%s", strings.Join(f.Listens, ", "))
	row("configuration", "%s", or(strings.Join(f.Config.Files, ", "), "flags and defaults"))
	for _, trouble := range f.Config.Trouble {
		row("", "cannot be read: %s", trouble)
	}
	row("root directory", "%s", f.Config.RootDir)
	row("cgroup driver", "%s (unless the runtime says otherwise)", f.Config.CgroupDriver)
	row("runtime", "%s", strings.Join(slices.DeleteFunc([]string{f.Runtime.Name, f.RuntimeVersion, f.Runtime.Endpoint}, func(s string) bool { return s == "" }), " "))
	if f.Runtime.Process != nil {
		row("", "%s", f.Runtime.Process)
	}
	for _, s := range f.Strangers {
		row("not taken", "%s", s)
	}
	fmt.Fprintln(tw) //nolint:errcheck // Flush tells
	for _, s := range f.Sources {
		there := "no"
		if s.There {
			there = "yes"
		}
		row(s.Name, "%s\t%s", there, s.Where)
		if s.Gives != "" {
			row("", "\tgives: %s", s.Gives)
		}
		if s.Missing != "" {
			row("", "\tmissing: %s", s.Missing)
		}
	}
	return tw.Flush()
}
