package containerdlog

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The messages of CRI-O. A call's lines share the key id, the method is the end of the key name; before 1.20 they had neither.
var crioLines = []struct {
	begins string
	method string
	edge   edge
	text   *regexp.Regexp
	names  []string // of the groups
}{
	{"Running pod sandbox: ", "RunPodSandbox", begins, regexp.MustCompile(`^Running pod sandbox: (\S{1,400})/POD$`), []string{"pod"}},
	{"Ran pod sandbox ", "RunPodSandbox", ends, regexp.MustCompile(`^Ran pod sandbox ([0-9a-f]{12,128}) with infra container: (\S{1,400})/POD$`), []string{"sandbox", "pod"}},
	{"Stopping pod sandbox: ", "StopPodSandbox", begins, regexp.MustCompile(`^Stopping pod sandbox: ([0-9a-f]{12,128})`), []string{"sandbox"}},
	{"Stopped pod sandbox", "StopPodSandbox", ends, regexp.MustCompile(`^Stopped pod sandbox(?: \(already stopped\))?: ([0-9a-f]{12,128})`), []string{"sandbox"}},
	{"Removing pod sandbox: ", "RemovePodSandbox", begins, regexp.MustCompile(`^Removing pod sandbox: ([0-9a-f]{12,128})`), []string{"sandbox"}},
	{"Removed pod sandbox: ", "RemovePodSandbox", ends, regexp.MustCompile(`^Removed pod sandbox: ([0-9a-f]{12,128})`), []string{"sandbox"}},
	{"Creating container: ", "CreateContainer", begins, regexp.MustCompile(`^Creating container: (\S{1,400})/([^/\s]{1,253})$`), []string{"pod", "name"}},
	{"Created container ", "CreateContainer", ends, regexp.MustCompile(`^Created container ([0-9a-f]{12,128}): (\S{1,400})/([^/\s]{1,253})$`), []string{"container", "pod", "name"}},
	{"Starting container: ", "StartContainer", begins, regexp.MustCompile(`^Starting container: ([0-9a-f]{12,128})`), []string{"container"}},
	{"Started container", "StartContainer", ends, regexp.MustCompile(`^Started container(?: ([0-9a-f]{12,128}): \S+)?$`), []string{"container"}},
	{"Stopping container: ", "StopContainer", begins, regexp.MustCompile(`^Stopping container: ([0-9a-f]{12,128})(?: \(timeout: (\d{1,9})s\))?`), []string{"container", "limit"}},
	{"Stopped container ", "StopContainer", ends, regexp.MustCompile(`^Stopped container ([0-9a-f]{12,128})`), []string{"container"}},
	{"Removing container: ", "RemoveContainer", begins, regexp.MustCompile(`^Removing container: ([0-9a-f]{12,128})`), []string{"container"}},
	{"Removed container ", "RemoveContainer", ends, regexp.MustCompile(`^Removed container ([0-9a-f]{12,128})`), []string{"container"}},
	{"Pulling image: ", "PullImage", begins, regexp.MustCompile(`^Pulling image: (\S{1,512})$`), []string{"image"}},
	{"Pulled image: ", "PullImage", ends, regexp.MustCompile(`^Pulled image: (\S{1,512})$`), []string{"ref"}},
	{"Got pod network ", "", named, regexp.MustCompile(`^Got pod network &\{Name:(\S{1,253}) Namespace:(\S{1,253}) ID:([0-9a-f]{12,128}) UID:([-0-9a-f]{8,64}) `), []string{"podname", "namespace", "sandbox", "uid"}},
}

// crio reads a line of CRI-O; ok is false where it tells of no call.
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
		t = told{edge: c.edge, method: c.method, request: l.Fields["id"]}
		for n, name := range c.names {
			t.take(name, m[n+1])
		}
		if t.container == "" {
			t.container = l.Fields["containerID"]
		}
		if t.sandbox == "" {
			t.sandbox = l.Fields["sandboxID"]
		}
		if t.method == "StartContainer" && t.container == "" {
			return told{}, false
		}
		if t.request != "" {
			t.request = t.method + " " + t.request
		}
		return t, true
	}
	return t, false
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
