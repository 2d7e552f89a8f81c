package containerdlog

import (
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/trace"
)

// edge is what a line tells of a call.
type edge uint8

const (
	begins edge = iota + 1
	ends        // successfully
	fails
	pulled   // an image was pulled, with its size
	exits    // a container's process ended
	left     // that it ended, without its exit code, which follows
	asks     // for which pod an image is pulled
	named    // a sandbox's pod has this UID
	linking  // a CNI plugin begins to set up a pod's network
	unlinked // that failed
	undone   // all that a call did was undone: it failed
)

// told is what a line tells.
type told struct {
	edge      edge
	method    string // of the CRI
	pod       trace.Pod
	sandbox   string // ids
	container string
	name      string // the container's
	image     string
	ref       string // of the pulled image
	bytes     int64
	limit     time.Duration // of StopContainer
	exit      int32
	at        int64 // when it was, where that is not the line's time
	err       string
	request   string // the call's own id, as CRI-O has it
}

// key pairs a begin with its end.
func (t *told) key() string {
	if t.request != "" {
		return t.request
	}
	return t.subject()
}

// subject is what a call does to what. A pod is busy with the latest of the calls of one subject.
func (t *told) subject() string {
	switch t.method {
	case "RunPodSandbox":
		return t.method + " " + t.pod.UID + " " + t.pod.String()
	case "CreateContainer":
		return t.method + " " + t.sandbox + " " + t.pod.String() + " " + t.name
	case "PullImage", "RemoveImage":
		return t.method + " " + t.image
	case "StopPodSandbox", "RemovePodSandbox", "UpdatePodSandboxResources":
		return t.method + " " + t.sandbox
	}
	return t.method + " " + t.container
}

// The calls of containerd 1.x and 2.x.
var (
	runSandbox    = pattern.New(`^RunPodSandbox for (.+?)(?:( returns sandbox id "([0-9a-f]{1,128})")|( failed, error))?$`)
	ofSandbox     = pattern.New(`^(StopPodSandbox|RemovePodSandbox|UpdatePodSandboxResources)(?: for)? "([^"]{1,128})"(?: with Overhead: .*)?(?:( returns successfully)|( failed))?$`)
	create        = pattern.New(`^CreateContainer within sandbox "([^"]{1,128})" for (?:container )?(.+?)(?:( returns container id "([0-9a-f]{1,128})")|( failed))?$`)
	ofContainer   = pattern.New(`^(StartContainer|StopContainer|RemoveContainer|UpdateContainerResources) for "([^"]{1,128})"(?: with timeout (-?\d{1,10}) \(s\)| with Linux: .*)?(?:( returns successfully)|( failed))?$`)
	ofImage       = pattern.New(`^(PullImage|RemoveImage) "([^"]{1,512})"(?:( returns (?:image reference "([^"]{1,512})"|successfully))|( failed))?$`)
	pulledImage   = pattern.New(`^Pulled image "([^"]{1,512})" with image id "[^"]{0,512}".*, size "(\d{1,18})" in `)
	metaModern    = pattern.New(`(name|uid|namespace): ?"([^"]{0,253})"`)
	metaOld       = pattern.New(`\b(Name|Uid|Namespace):([^,{}\s]{0,253})`)
	exitModern    = pattern.New(`^(?:received (?:sandbox )?(?:container )?exit event|TaskExit event(?: in podsandbox handler)?) `)
	exitFields    = pattern.New(`\b(container_id|id|exit_status|seconds|nanos):"?([0-9a-zA-Z_.-]{1,128})`)
	exitOld       = pattern.New(`\b(ContainerID|ID|ExitStatus):([0-9a-zA-Z_.-]{1,128})`)
	exitOldMoment = pattern.New(`ExitedAt:(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [-+]\d{4})`)
)

// containerd reads a line of containerd; ok is false where it tells of no call.
func containerd(l *Line) (t told, ok bool) {
	msg := l.Msg
	switch {
	case strings.HasPrefix(msg, "RunPodSandbox "):
		m := runSandbox.FindStringSubmatch(msg)
		if m == nil {
			return t, false
		}
		t = told{method: "RunPodSandbox", edge: edgeOf(m[2], m[4]), sandbox: m[3], pod: podOf(m[1])}
		ok = t.pod.Name != ""
	case strings.HasPrefix(msg, "CreateContainer "):
		m := create.FindStringSubmatch(msg)
		if m == nil {
			return t, false
		}
		t = told{method: "CreateContainer", edge: edgeOf(m[3], m[5]), sandbox: m[1], container: m[4], name: podOf(m[2]).Name}
		ok = t.name != ""
	case strings.HasPrefix(msg, "Pulled image "):
		m := pulledImage.FindStringSubmatch(msg)
		if m == nil {
			return t, false
		}
		t = told{method: "PullImage", edge: pulled, image: m[1]}
		t.bytes, _ = strconv.ParseInt(m[2], 10, 64)
		return t, true
	case strings.HasPrefix(msg, "PullImage ") || strings.HasPrefix(msg, "RemoveImage "):
		m := ofImage.FindStringSubmatch(msg)
		if m == nil {
			return t, false
		}
		t, ok = told{method: m[1], edge: edgeOf(m[3], m[5]), image: m[2], ref: m[4]}, true
	case exitModern.MatchString(msg):
		return exitOf(l)
	default:
		if m := ofSandbox.FindStringSubmatch(msg); m != nil {
			t, ok = told{method: m[1], edge: edgeOf(m[3], m[4]), sandbox: m[2]}, true
		} else if m := ofContainer.FindStringSubmatch(msg); m != nil {
			t, ok = told{method: m[1], edge: edgeOf(m[4], m[5]), container: m[2]}, true
			seconds, _ := strconv.ParseInt(m[3], 10, 32)
			t.limit = time.Duration(max(seconds, 0)) * time.Second
		}
	}
	if t.edge == fails {
		t.err = trace.Clip(l.Err, maxError)
	}
	return t, ok
}

// maxError bounds how much of an error is kept.
const maxError = 8 << 10

func edgeOf(done, failed string) edge {
	switch {
	case failed != "":
		return fails
	case done != "":
		return ends
	}
	return begins
}

// podOf reads metadata as containerd 2 prints it (name:"a"  uid:"b"), or as containerd 1 did (&PodSandboxMetadata{Name:a,Uid:b,...}).
func podOf(meta string) (p trace.Pod) {
	all := metaModern.FindAllStringSubmatch(meta, 8)
	if all == nil {
		all = metaOld.FindAllStringSubmatch(meta, 8)
	}
	for _, m := range all {
		switch strings.ToLower(m[1]) {
		case "name":
			p.Name = m[2]
		case "uid":
			p.UID = m[2]
		case "namespace":
			p.Namespace = m[2]
		}
	}
	return p
}

// exitOf reads that a process ended. Of a container's further processes (exec) the id is another one.
func exitOf(l *Line) (t told, ok bool) {
	t = told{edge: exits, at: l.Time.UnixNano()}
	id, status, seconds, nanos := "", "0", int64(0), int64(0)
	for _, m := range append(exitFields.FindAllStringSubmatch(l.Msg, 16), exitOld.FindAllStringSubmatch(l.Msg, 16)...) {
		switch m[1] {
		case "container_id", "ContainerID":
			t.container = m[2]
		case "id", "ID":
			id = m[2]
		case "exit_status", "ExitStatus":
			status = m[2]
		case "seconds":
			seconds, _ = strconv.ParseInt(m[2], 10, 64)
		case "nanos":
			nanos, _ = strconv.ParseInt(m[2], 10, 64)
		}
	}
	code, err := strconv.ParseUint(status, 10, 32)
	if err != nil || t.container == "" || id != t.container {
		return told{}, false
	}
	t.exit = int32(code)
	when := time.Unix(seconds, nanos)
	if m := exitOldMoment.FindStringSubmatch(l.Msg); m != nil {
		if parsed, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", m[1]); err == nil {
			when = parsed
		}
	}
	if d := l.Time.Sub(when); d >= 0 && d < time.Minute { // the process's end, by the shim
		t.at = when.UnixNano()
	}
	return t, true
}

// rpcCode is the gRPC code in an error.
var rpcCode = pattern.New(`code = ([A-Za-z]{1,30})`)

// codeOf is the gRPC code's name that an error tells; Unknown where it tells none.
func codeOf(err string) string {
	if m := rpcCode.FindStringSubmatch(err); m != nil {
		return m[1]
	}
	if strings.Contains(err, "context deadline exceeded") {
		return "DeadlineExceeded"
	}
	return "Unknown"
}

// Began returns the id of the sandbox or container that a line says to run now; "" where it says none. A kubelet's log tells of the same.
func Began(l *Line) string {
	t, ok := read(l)
	switch {
	case !ok || t.edge != ends:
	case t.method == "RunPodSandbox":
		return t.sandbox
	case t.method == "StartContainer":
		return t.container
	}
	return ""
}
