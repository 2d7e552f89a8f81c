package containerdlog

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The messages of CRI-O 1.20 to 1.34. A call's lines share the key id, the method is the end of the key name; before 1.20 they had neither.
// At its default level, info, CRI-O does not log that a call failed: of RunPodSandbox and CreateContainer it logs the steps that undo them, of which
// the last one releases the name. At debug, it logs the error of each call, and the exits of containers.
var crioLines = []struct {
	begins string
	method string // "" is the one in the key name
	edge   edge
	text   *pattern.Pattern
	names  []string // of the groups
}{
	{"Running pod sandbox: ", "RunPodSandbox", begins, pattern.New(`^Running pod sandbox: (\S{1,400})/POD$`), []string{"pod"}},
	{"Ran pod sandbox ", "RunPodSandbox", ends, pattern.New(`^Ran pod sandbox ([0-9a-f]{12,128}) with infra container: (\S{1,400})/POD$`), []string{"sandbox", "pod"}},
	{"runSandbox: releasing pod sandbox name: ", "RunPodSandbox", undone, pattern.New(`^`), nil},
	{"RunSandbox: context was ", "RunPodSandbox", fails, pattern.New(`^RunSandbox: context was either canceled or the deadline was exceeded: (.{1,200})$`), []string{"err"}},
	{"Stopping pod sandbox: ", "StopPodSandbox", begins, pattern.New(`^Stopping pod sandbox: ([0-9a-f]{12,128})`), []string{"sandbox"}},
	{"Stopped pod sandbox", "StopPodSandbox", ends, pattern.New(`^Stopped pod sandbox(?: \(already stopped\))?: ([0-9a-f]{12,128})`), []string{"sandbox"}},
	{"Removing pod sandbox: ", "RemovePodSandbox", begins, pattern.New(`^Removing pod sandbox: ([0-9a-f]{12,128})`), []string{"sandbox"}},
	{"Removed pod sandbox: ", "RemovePodSandbox", ends, pattern.New(`^Removed pod sandbox: ([0-9a-f]{12,128})`), []string{"sandbox"}},
	{"Creating container: ", "CreateContainer", begins, pattern.New(`^Creating container: (\S{1,400})/([^/\s]{1,253})$`), []string{"pod", "name"}},
	{"Created container ", "CreateContainer", ends, pattern.New(`^Created container ([0-9a-f]{12,128}): (\S{1,400})/([^/\s]{1,253})$`), []string{"container", "pod", "name"}},
	{"createCtr: releasing container name ", "CreateContainer", undone, pattern.New(`^`), nil},
	{"CreateCtr: context was ", "CreateContainer", fails, pattern.New(`^CreateCtr: context was either canceled or the deadline was exceeded: (.{1,200})$`), []string{"err"}},
	{"Starting container: ", "StartContainer", begins, pattern.New(`^Starting container: ([0-9a-f]{12,128})`), []string{"container"}},
	{"Started container", "StartContainer", ends, pattern.New(`^Started container(?: ([0-9a-f]{12,128}): \S+)?$`), []string{"container"}},
	{"Stopping container: ", "StopContainer", begins, pattern.New(`^Stopping container: ([0-9a-f]{12,128})(?: \(timeout: (\d{1,9})s\))?`), []string{"container", "limit"}},
	{"Stopped container ", "StopContainer", ends, pattern.New(`^Stopped container ([0-9a-f]{12,128})`), []string{"container"}},
	{"Removing container: ", "RemoveContainer", begins, pattern.New(`^Removing container: ([0-9a-f]{12,128})`), []string{"container"}},
	{"Removed container ", "RemoveContainer", ends, pattern.New(`^Removed container ([0-9a-f]{12,128})`), []string{"container"}},
	{"Pulling image: ", "PullImage", begins, pattern.New(`^Pulling image: (\S{1,512})$`), []string{"image"}},
	{"Pulled image: ", "PullImage", ends, pattern.New(`^Pulled image: (\S{1,512})$`), []string{"ref"}},
	{"Response error: ", "", fails, pattern.New(`^Response error: (.*)$`), []string{"err"}},
	{"Response: ", "", ends, pattern.New(`^`), nil},
	{"Request: &PullImageRequest{", "PullImage", asks, pattern.New(`PodSandboxMetadata\{Name:([^,]{1,253}),Uid:([^,]{1,64}),Namespace:([^,]{1,253}),`), []string{"podname", "uid", "namespace"}},
	{"container exited and found: ", "", left, pattern.New(`^container exited and found: ([0-9a-f]{12,128})$`), []string{"container"}},
	{"Found exit code for ", "", exits, pattern.New(`^Found exit code for ([0-9a-f]{12,128}): (\d{1,10})$`), []string{"container", "exit"}},
	{"Got pod network ", "", named, pattern.New(`^Got pod network &\{Name:(\S{1,253}) Namespace:(\S{1,253}) ID:([0-9a-f]{12,128}) UID:([-0-9a-f]{8,64}) `), []string{"podname", "namespace", "sandbox", "uid"}},
	{"Adding pod ", "", linking, pattern.New(`^Adding pod ([^_\s]{1,253})_(\S{1,253}) to CNI network `), []string{"namespace", "podname"}},
	{"NetworkStart: stopping network ", "RunPodSandbox", unlinked, pattern.New(`^`), nil},
}

// crio reads a line of CRI-O; ok is false if it is about no call.
func crio(l *Line) (t told, ok bool) {
	for i := range crioLines {
		c := &crioLines[i]
		if !strings.HasPrefix(l.Msg, c.begins) {
			continue
		}
		m := c.text.FindStringSubmatch(l.Msg)
		if m == nil {
			continue
		}
		t = told{edge: c.edge, method: c.method, request: requestOf(l), at: l.Time.UnixNano()}
		for n, name := range c.names {
			t.take(name, m[n+1])
		}
		if t.container == "" {
			t.container = l.Fields["containerID"]
		}
		if t.sandbox == "" {
			t.sandbox = l.Fields["sandboxID"]
		}
		if t.method == "" && t.request != "" {
			t.method = path.Base(l.Fields["name"])
		}
		unknown := t.request == "" && (c.names == nil || c.method == "" && t.edge == fails || t.method == "StartContainer" && t.container == "")
		return t, !unknown
	}
	return t, false
}

// requestOf names the call that a line of CRI-O is part of; "" if it names none.
func requestOf(l *Line) string {
	id, name := l.Fields["id"], l.Fields["name"]
	if id == "" || name == "" {
		return ""
	}
	return path.Base(name) + " " + id
}

func (t *told) take(name, v string) {
	switch name {
	case "pod":
		t.pod.Namespace, t.pod.Name, _ = strings.Cut(v, "/")
	case "podname":
		t.pod.Name = v
	case "namespace":
		t.pod.Namespace = v
	case "uid":
		t.pod.UID = v
	case "sandbox":
		t.sandbox = v
	case "container":
		t.container = v
	case "name":
		t.name = v
	case "image":
		t.image = v
	case "ref":
		t.ref = v
	case "err":
		t.err = trace.Clip(v, maxError)
	case "exit":
		code, _ := strconv.ParseUint(v, 10, 31)
		t.exit = int32(code)
	case "limit":
		seconds, _ := strconv.ParseInt(v, 10, 32)
		t.limit = time.Duration(seconds) * time.Second
	}
}

// read is what a line tells, of either runtime.
func read(l *Line) (told, bool) {
	if t, ok := containerd(l); ok {
		return t, true
	}
	return crio(l)
}
