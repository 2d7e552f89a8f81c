package logfile

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
)

// stripped is a line without what was put before it.
type stripped struct {
	text    string
	runtime bool      // the container runtime wrote it
	at      time.Time // with year and zone; else zero
	process string
	part    bool // the line continues in the next one
	journal bool // a journal's or syslog's prefix was there
	tabs    int  // how many tabs were in what was taken away
}

var (
	// What journalctl and syslog write: Sep 17 10:01:34.123 host kubelet[2310]: ..., and the forms with a whole time.
	journalLine = pattern.New(`^(?:(?:[A-Z][a-z]{2} )?(?:[A-Z][a-z]{2}|\d{1,2}月|\pL{3,5}\.?) [ \d]?\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d+)?(?: [A-Z]{3,5})?|(?:[A-Z][a-z]{2} )?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?) ?(Z|UTC|[+-]\d\d:?\d\d)?|\d{10}\.\d+|\[ *\d+\.\d+\]) (\S+) ([^\s\[:]{1,100})(?:(?:\[(\d+)\])?:| (\d+) - - ?) ?(.*)$`)
	// What a program of several parts writes before a header.
	component = pattern.New(`^([a-z][-a-z0-9]{1,62}) +`)
	// What CRI runtimes write to the logs of containers.
	criLine = pattern.New(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*) (?:stdout|stderr) ([PF])(?::\S*)? (.*)$`)
)

// kubelets are the names of programs that are a kubelet or have one within.
var kubelets = []string{"kubelet", "hyperkube", "kubelite", "k3s", "rke2", "k0s", "microk8s", "microshift"}

// mayBeKubelet reports whether a program of that name may write a kubelet's log; where there is no name it may.
func mayBeKubelet(name string) bool {
	if name == "" {
		return true
	}
	name = strings.ToLower(name)
	for _, k := range kubelets {
		if strings.Contains(name, k) {
			return true
		}
	}
	return false
}

// others are names of programs that write klog's format and are no kubelet.
var others = []string{"apiserver", "controller", "scheduler", "proxy", "autoscaler", "etcd", "flannel", "calico", "cilium", "csi", "containerd", "crio", "cri-o", "cri-dockerd", "ovn", "router"}

// isOther reports whether a program of that name is known to be none that has a kubelet within.
func isOther(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(others, func(o string) bool { return strings.Contains(name, o) })
}

// journalCut is where journald cuts lines, unless it is told otherwise (LineMax). As text, a journal does not say that the next line continues
// one: without the tab of a value's line it may look like an entry.
const journalCut = 48 << 10

// maxQuote bounds how far into a line the journal's prefix begins where somebody quotes one.
const maxQuote = 64

// isRuntime reports whether a program or unit of that name is a container runtime.
func isRuntime(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "containerd") || strings.Contains(name, "crio") || strings.Contains(name, "cri-o")
}

// isRuntimeLine reports whether a line looks like those that containerd and CRI-O write, and no kubelet's entry is within it.
func isRuntimeLine(line string) bool {
	if strings.HasPrefix(line, `time="`) {
		text, own := wrapped(line)
		return text != "" && !own && strings.Contains(line, " level=")
	}
	return strings.HasPrefix(line, "{") && !strings.Contains(line, `"ts":`) && strings.Contains(line, `"level":"`) && strings.Contains(line, `"msg":"`) && strings.Contains(line, `"time":"`)
}

// strip takes away what was put before a line; own is false where the line belongs to another program.
func strip(line string) (s stripped, own bool) {
	if isRuntimeLine(line) {
		return stripped{text: line, runtime: true}, true
	}
	if m := criLine.FindStringSubmatch(line); m != nil {
		at, _ := time.Parse(time.RFC3339Nano, m[1])
		return stripped{text: m[3], at: at, process: "container", part: m[2] == "P"}, true
	}
	// Behind the indentation and the comment sign of who quotes a journal.
	if m := journalLine.FindStringSubmatch(strings.TrimLeft(line[:min(len(line), maxQuote)], "# \t>") + line[min(len(line), maxQuote):]); m != nil {
		s = stripped{text: m[7], process: m[4] + m[5] + m[6], journal: true, part: len(m[7]) == journalCut, tabs: tabsBefore(line, m[7])}
		if m[1] != "" && m[2] != "" {
			s.at = parseISO(m[1], m[2])
		}
		own = mayBeKubelet(m[4]) || klog.HeaderAt(strings.TrimLeft(s.text, " ")) == 0 && !isOther(m[4])
		if at := klog.HeaderAt(s.text); own && at > 0 && s.text[0] == '{' && !strings.Contains(s.text[:at], `"ts":`) {
			s.text = s.text[at:] // what a plugin wrote to the kubelet's output, without an end of line
		}
		if c := component.FindStringSubmatch(s.text); c != nil && klog.HeaderAt(s.text[len(c[0]):]) == 0 { // microshift writes which of its parts it is
			s.text, own = s.text[len(c[0]):], mayBeKubelet(c[1])
			s.process += " " + c[1]
		}
		s.runtime = own && isRuntimeLine(s.text) || !own && isRuntime(m[4])
		return s, own
	}
	if i := strings.Index(line[:min(len(line), maxQuote)], `: {"ts":`); i > 0 && line[0] != '{' { // talosctl writes the node before it
		return stripped{text: line[i+2:], tabs: tabsBefore(line, line[i+2:])}, true
	}
	if strings.HasPrefix(line, `time="`) {
		if text, ok := wrapped(line); text != "" {
			return stripped{text: text, process: "wrapped"}, ok
		}
	}
	if at := klog.HeaderAt(line); at > 0 && line[0] != '{' {
		text, tabs := line[at:], strings.Count(line[:at], "\t")
		if line[at-1] == '"' && strings.Contains(text, `] ""`) { // a field of a table whose fields are quoted
			text = strings.TrimSuffix(strings.ReplaceAll(text, `""`, `"`), `"`)
		}
		return stripped{text: text, tabs: tabs}, true
	}
	if text := strings.TrimLeft(line, " \t>.…"); text != line && klog.HeaderAt(text) == 0 { // who quotes it left out what comes before
		return stripped{text: text, tabs: tabsBefore(line, text)}, true
	}
	return stripped{text: line}, true
}

// parseISO reads a time and its zone; zero where it is none.
func parseISO(at, zone string) time.Time {
	at = strings.Replace(strings.Replace(at, ",", ".", 1), " ", "T", 1)
	switch {
	case zone == "UTC":
		zone = "Z"
	case len(zone) == 5:
		zone = zone[:3] + ":" + zone[3:]
	}
	t, err := time.Parse(time.RFC3339Nano, at+zone)
	if err != nil {
		return time.Time{}
	}
	return t
}

// wrapped is the message of a line as k0s and Rancher's supervisors write it: time="..." level=info msg="I0102 ..." component=kubelet.
func wrapped(line string) (string, bool) {
	_, rest, found := strings.Cut(line, ` msg="`)
	if !found {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			tail := rest[i+1:]
			text := b.String()
			return text, strings.Contains(tail, "component=kubelet") || klog.HeaderAt(text) == 0 && !strings.Contains(tail, "component=")
		case c == '\\' && i+1 < len(rest):
			i++
			switch rest[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				b.WriteByte(rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
