package gc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

var states = map[string]runtimeapi.ContainerState{
	"created": runtimeapi.ContainerState_CONTAINER_CREATED,
	"running": runtimeapi.ContainerState_CONTAINER_RUNNING,
	"exited":  runtimeapi.ContainerState_CONTAINER_EXITED,
	"unknown": runtimeapi.ContainerState_CONTAINER_UNKNOWN,
}

func labels(uid, name string) map[string]string {
	return map[string]string{
		"io.kubernetes.pod.uid": uid, "io.kubernetes.pod.namespace": "ns",
		"io.kubernetes.pod.name": "pod-" + uid, "io.kubernetes.container.name": name,
	}
}

// container parses "id state uid/name created sandbox"; a uid of - means that no kubelet created it.
func container(t *testing.T, line string) *runtimeapi.Container {
	t.Helper()
	var id, state, owner, sandbox string
	var created int64
	if _, err := fmt.Sscanf(line, "%s %s %s %d %s", &id, &state, &owner, &created, &sandbox); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	uid, name, _ := strings.Cut(owner, "/")
	c := &runtimeapi.Container{
		Id: id, PodSandboxId: sandbox, State: states[state], Metadata: &runtimeapi.ContainerMetadata{Name: name},
		CreatedAt: time.Unix(created, 0).UnixNano(),
	}
	if uid != "-" {
		c.Labels = labels(uid, name)
	}
	return c
}

// sandbox parses "id ready|notready uid created".
func sandbox(t *testing.T, line string) *runtimeapi.PodSandbox {
	t.Helper()
	var id, state, uid string
	var created int64
	if _, err := fmt.Sscanf(line, "%s %s %s %d", &id, &state, &uid, &created); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	s := &runtimeapi.PodSandbox{Id: id, Metadata: &runtimeapi.PodSandboxMetadata{}, CreatedAt: time.Unix(created, 0).UnixNano()}
	if state == "notready" {
		s.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	if uid != "-" {
		s.Labels = labels(uid, "")
	}
	return s
}

func TestPlanContainers(t *testing.T) {
	keep1 := ContainerPolicy{MaxPerContainer: 1, MaxTotal: -1}
	tests := map[string]struct {
		policy     ContainerPolicy
		containers []string
		sandboxes  []string
		logDirs    []string
		want       []string
	}{
		"nothing there": {policy: keep1},
		"running and ready are no candidates": {
			policy:     keep1,
			containers: []string{"a running live/web 10 s"}, sandboxes: []string{"s ready live 9"}, logDirs: []string{"ns_pod-live_live"},
		},
		"the newest dead one stays": {
			policy:     keep1,
			containers: []string{"a exited live/web 10 s", "c running live/web 30 s", "b exited live/web 20 s", "x exited live/db 5 s"},
			want: []string{
				"keep x: it is among the newest 1 of its name",
				"keep b: it is among the newest 1 of its name",
				"remove a: the pod keeps the newest 1 of its name",
			},
		},
		"none stays": {
			policy: ContainerPolicy{MaxPerContainer: 0, MaxTotal: -1}, containers: []string{"a exited live/web 10 s"},
			want: []string{"remove a: the pod keeps the newest 0 of its name"},
		},
		"all stay": {
			policy: ContainerPolicy{MaxPerContainer: -1, MaxTotal: -1}, containers: []string{"a exited live/web 10 s", "b unknown live/web 11 s"},
			want: []string{"keep b: the pod keeps all containers of this name", "keep a: the pod keeps all containers of this name"},
		},
		"a container about to start costs no dead one its place": {
			policy: keep1, containers: []string{"a exited live/web 10 s", "b created live/web 20 s"},
			want: []string{"keep b: it is about to start", "keep a: it is among the newest 1 of its name"},
		},
		"a container that was never started is dead once another follows": {
			policy: keep1, containers: []string{"a exited live/web 10 s", "b created live/web 20 s", "c running live/web 30 s"},
			want: []string{"keep b: it is among the newest 1 of its name", "remove a: the pod keeps the newest 1 of its name"},
		},
		"all of a deleted pod goes, but what runs": {
			policy:     keep1,
			containers: []string{"a exited gone/web 10 s", "b created gone/web 20 s", "c unknown gone/db 20 s", "d running gone2/web 9 s2"},
			sandboxes:  []string{"s notready gone 9", "s2 notready gone2 9"},
			logDirs:    []string{"ns_pod_gone2", "ns_pod_gone", "ns_pod_live", "lost+found", "a_b_"},
			want: []string{
				"remove c: its pod is gone", "remove b: its pod is gone", "remove a: its pod is gone",
				"remove s: its pod is gone", "keep s2: it still has containers: 1",
				"remove ns_pod_gone: its pod is gone", "keep ns_pod_gone2: a container of its pod still runs",
			},
		},
		"the newest sandbox of a pod stays": {
			policy:     keep1,
			containers: []string{"a exited live/web 10 s1"},
			sandboxes:  []string{"s0 notready live 1", "s1 notready live 2", "s2 notready live 3", "t0 notready live2 1", "t1 ready live2 2", "u notready live3 1"},
			want: []string{
				"keep a: it is among the newest 1 of its name",
				"keep s2: it is the newest sandbox of its pod", "keep s1: it still has containers: 1", "remove s0: its pod has a newer sandbox",
				"remove t0: its pod has a newer sandbox",
				"keep u: it is the newest sandbox of its pod",
			},
		},
		"a sandbox that gets empty goes in the same pass": {
			policy:     keep1,
			containers: []string{"a exited live/web 10 s1", "b exited live/web 20 s2"},
			sandboxes:  []string{"s1 notready live 1", "s2 ready live 2"},
			want: []string{
				"keep b: it is among the newest 1 of its name", "remove a: the pod keeps the newest 1 of its name",
				"remove s1: its pod has a newer sandbox",
			},
		},
		"too young": {
			policy:     ContainerPolicy{MinAge: time.Minute, MaxPerContainer: 0, MaxTotal: -1},
			containers: []string{"a exited gone/web 41 s", "b exited live/web 40 s"},
			want:       []string{"keep a: it is younger than 1m0s", "remove b: the pod keeps the newest 0 of its name"},
		},
		"an equal share of the total": {
			policy: ContainerPolicy{MaxPerContainer: 5, MaxTotal: 4},
			containers: []string{
				"a1 exited live/a 1 s", "a2 exited live/a 2 s", "a3 exited live/a 3 s",
				"b1 exited live/b 4 s", "b2 exited live/b 5 s", "b3 exited live/b 6 s",
			},
			want: []string{
				"keep a3: it is among the newest 5 of its name", "keep a2: it is among the newest 5 of its name",
				"remove a1: the node keeps 4 dead containers, which is 2 of each name",
				"keep b3: it is among the newest 5 of its name", "keep b2: it is among the newest 5 of its name",
				"remove b1: the node keeps 4 dead containers, which is 2 of each name",
			},
		},
		"then the oldest": {
			policy:     ContainerPolicy{MaxPerContainer: 5, MaxTotal: 2},
			containers: []string{"a exited live/a 3 s", "b exited live/b 1 s", "c exited live/c 2 s"},
			want: []string{
				"keep a: it is among the newest 5 of its name", "remove b: the node keeps the newest 2 dead containers",
				"keep c: it is among the newest 5 of its name",
			},
		},
		"no dead ones at all": {
			policy:     ContainerPolicy{MaxPerContainer: 5, MaxTotal: 0},
			containers: []string{"a exited live/a 3 s"},
			want:       []string{"remove a: the node keeps the newest 0 dead containers"},
		},
		"what no kubelet made is left alone": {
			policy: ContainerPolicy{MaxPerContainer: 0, MaxTotal: 0}, containers: []string{"a exited -/web 1 s"}, sandboxes: []string{"s notready - 1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := ContainerInputs{
				Now: time.Unix(100, 0), Policy: tt.policy, LogDirs: tt.logDirs,
				Deleted: func(uid string) bool { return strings.HasPrefix(uid, "gone") },
			}
			for _, line := range tt.containers {
				in.Containers = append(in.Containers, container(t, line))
			}
			for _, line := range tt.sandboxes {
				in.Sandboxes = append(in.Sandboxes, sandbox(t, line))
			}
			if d := cmp.Diff(tt.want, render(PlanContainers(in))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestClockSetBack: what was created after the wall clock was set back is nevertheless the newest. What was created
// before has a time in the future and does not count as young.
func TestClockSetBack(t *testing.T) {
	in := ContainerInputs{Now: time.Unix(100, 0), Policy: ContainerPolicy{MaxPerContainer: 1, MaxTotal: -1}, Deleted: func(string) bool { return false }}
	for i, line := range []string{"a exited live/web 3600 x", "b exited live/web 3610 x", "c created live/web 90 x"} {
		c := container(t, line)
		c.Metadata.Attempt = uint32(i)
		in.Containers = append(in.Containers, c)
	}
	for i, line := range []string{"r notready live2 3600", "s notready live2 90"} {
		s := sandbox(t, line)
		s.Metadata.Attempt = uint32(i)
		in.Sandboxes = append(in.Sandboxes, s)
	}
	want := []string{
		"keep c: it is about to start", "keep b: it is among the newest 1 of its name", "remove a: the pod keeps the newest 1 of its name",
		"keep s: it is the newest sandbox of its pod", "remove r: its pod has a newer sandbox",
	}
	if d := cmp.Diff(want, render(PlanContainers(in))); d != "" {
		t.Error(d)
	}
}

func render(verdicts []Verdict) []string {
	var out []string
	for _, v := range verdicts {
		d := v.decision("")
		out = append(out, string(d.Verdict)+" "+v.ID+": "+v.Reason)
	}
	return out
}

func TestPlanLinks(t *testing.T) {
	containers := []*runtimeapi.Container{
		container(t, "aaaaaa exited live/web 1 s"), container(t, "bbbbbb running live/web 1 s"),
	}
	got := render(PlanLinks([]string{
		"pod_ns_web-cccccc.log", "pod_ns_web-bbbbbb.log", "pod_ns_web-aaaaaa.log", "README", "own.log", "a-cccccc.log", "pod_ns_web-ccc.log",
	}, containers))
	want := []string{
		"remove pod_ns_web-aaaaaa.log: it is a dangling link, and its container has exited",
		"keep pod_ns_web-bbbbbb.log: its container is not dead: the log may be being rotated",
		"remove pod_ns_web-cccccc.log: it is a dangling link, and its container is gone",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A name that is too long has a part of the container's ID, or none of it.
func TestPlanCutLinks(t *testing.T) {
	containers := []*runtimeapi.Container{
		container(t, "aaaaaaaaaaaa exited live/web 1 s"), container(t, "bbbbbbbbbbbb running live/web 1 s"), container(t, "bbbbbbbbcccc exited live/web 1 s"),
	}
	cut := func(id string, kept int) string { // of the ID
		return criconfig.LegacyLogName("ns", strings.Repeat("p", 251-len("_ns_web-")-kept), "web", id)
	}
	short := func(name string) string { return strings.TrimLeft(name, "p") }
	links := []string{
		cut("aaaaaaaaaaaa", 8), cut("bbbbbbbbbbbb", 8), cut("dddddddddddd", 8), cut("aaaaaaaaaaaa", 3), cut("aaaaaaaaaaaa", 0), cut("bbbbbbbbbbbb", 12),
		strings.Repeat("p", 251) + ".log", strings.Repeat("p", 250) + ".log", strings.Repeat("p", 255),
	}
	got := map[string]string{}
	for _, v := range PlanLinks(links, containers) {
		got[short(v.ID)] = fmt.Sprint(v.Remove, ": ", v.Reason)
	}
	const gone, none = "true: it is a dangling link, and its container is gone", "true: it is a dangling link, and its name is too long for the ID of its container"
	want := map[string]string{
		"_ns_web-aaaaaaaa.log": "true: it is a dangling link, and its container has exited", "_ns_web-bbbbbbbb.log": "false: its container is not dead: the log may be being rotated",
		"_ns_web-bbbbbbbbbbbb.log": "false: its container is not dead: the log may be being rotated",
		"_ns_web-dddddddd.log":     gone, "_ns_web-aaa.log": none, "_ns_web-.log": none, ".log": none,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestLogPattern(t *testing.T) {
	c := container(t, "a exited u/web 1 s")
	c.Metadata.Attempt = 3
	if got, want := logPattern(c), "ns_pod-u_u/web/3.log*"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Labels["io.kubernetes.container.name"] = "../*"
	if got := logPattern(c); got != "" {
		t.Errorf("a name that leaves its directory gives %q", got)
	}
}
