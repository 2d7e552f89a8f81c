package resize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

type told struct {
	events.Publisher
	reasons []string
}

func (e *told) Pod(_ context.Context, _ *v1.Pod, _, kind, reason, message string) {
	words, _, _ := strings.Cut(message, ":")
	e.reasons = append(e.reasons, kind+" "+reason+" "+words)
}

func podWith(cpu string, generation int64) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u", Generation: generation}}
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
	return p
}

func cpu(p *v1.Pod) string { return p.Spec.Containers[0].Resources.Requests.Cpu().String() }

// saveAs writes a checkpoint.
func saveAs(t *testing.T, path string, pods map[types.UID]info) {
	t.Helper()
	text, err := format(pods)
	if err := errors.Join(err, save(path, text)); err != nil {
		t.Fatal(err)
	}
}

func waits(m *Manager, pod *v1.Pod) bool { return len(m.Waiting([]*v1.Pod{pod})) == 1 }

func TestResize(t *testing.T) {
	dir, events, rec := t.TempDir(), &told{}, tracetest.New(t)
	room, reason := true, "OutOfcpu"
	cfg := Config{Dir: dir, Events: events, Bus: rec.Bus(), Admit: func(*v1.Pod, []*v1.Pod) Verdict {
		return Verdict{Fits: room, Reason: reason, Message: "Node didn't have enough resource: cpu"}
	}}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what, allocated, actuated, conditions string) {
		t.Helper()
		r, _ := m.Actuated("u", "c")
		if got := r.Requests.Cpu().String(); got != actuated {
			t.Errorf("%s: the container has %s, want %s", what, got, actuated)
		}
		if got := cpu(m.Pod(podWith("9", 9))); got != allocated {
			t.Errorf("%s: allocated %s, want %s", what, got, allocated)
		}
		var all []string
		for _, c := range m.Conditions("u") {
			all = append(all, string(c.Type)+" "+c.Reason)
		}
		if got := strings.Join(all, ","); got != conditions {
			t.Errorf("%s: conditions %q, want %q", what, got, conditions)
		}
	}
	one, two := podWith("1", 1), podWith("2", 2)
	if got := m.Add(one); got != one {
		t.Error("a new pod is not as its spec says")
	}
	check("new", "1", "1", "")

	room = false
	if got, _ := m.Update(t.Context(), two, nil, trace.ResizeForUpdated); cpu(got) != "1" || !waits(m, two) {
		t.Errorf("no room: %s", cpu(got))
	}
	m.Update(t.Context(), two, nil, trace.ResizeForUpdated)
	check("no room", "1", "1", "PodResizePending Deferred")
	reason = v1.PodReasonInfeasible
	m.Update(t.Context(), two, nil, trace.ResizeForUpdated)
	check("never any room", "1", "1", "PodResizePending Infeasible")
	reason = "OutOfcpu"
	m.Update(t.Context(), two, nil, trace.ResizeForUpdated)

	room = true
	if got, _ := m.Update(t.Context(), two, nil, trace.ResizeForUpdated); got != two || waits(m, two) {
		t.Errorf("room: %s", cpu(got))
	}
	check("room", "2", "1", "PodResizeInProgress ")
	m.Failed(t.Context(), two, "too small")
	check("failed", "2", "1", "PodResizeInProgress Error")

	// Another agent reads it.
	if m, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	check("after a restart", "2", "1", "")
	if m.Add(two) != two {
		t.Error("it is allocated what its spec says")
	}
	check("found under way", "2", "1", "PodResizeInProgress ")
	if got := m.Add(podWith("3", 3)); cpu(got) != "2" {
		t.Errorf("after a restart it is allocated %s", cpu(got))
	}
	m.Update(t.Context(), two, nil, trace.ResizeForUpdated) // reverted
	if err := m.Actuate(two, "c"); err != nil {
		t.Error(err)
	}
	m.Done(t.Context(), two)
	check("done", "2", "2", "")
	want := "Warning ResizeDeferred Pod resize OutOfcpu,Warning ResizeInfeasible Pod resize Infeasible,Warning ResizeDeferred Pod resize OutOfcpu,Normal ResizeStarted Pod resize started,Warning ResizeError Pod resize error,Normal ResizeCompleted Pod resize completed"
	if got := strings.Join(events.reasons, ","); got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	var verdicts []trace.Verdict
	for _, d := range tracetest.Events[trace.Decision](rec) {
		if d.By != trace.ByResize {
			t.Errorf("%+v", d)
		}
		verdicts = append(verdicts, d.Verdict)
	}
	if want := []trace.Verdict{trace.VerdictDeferred, trace.VerdictInfeasible, trace.VerdictDeferred, trace.VerdictResize}; !slices.Equal(verdicts, want) {
		t.Errorf("decided %q, want %q", verdicts, want)
	}
	m.Forget("u")
	check("gone", "9", "0", "")
}

// A resize that is reverted after a failure is in progress until the pod is known to have what it is allocated. The end of an earlier resize is
// not the end of the next one.
func TestProgressEnds(t *testing.T) {
	m, err := New(Config{Dir: t.TempDir(), Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: true} }})
	if err != nil {
		t.Fatal(err)
	}
	one, two, again := podWith("1", 1), podWith("2", 2), podWith("1", 3)
	m.Add(one)
	m.Update(t.Context(), two, nil, trace.ResizeForUpdated)
	m.Failed(t.Context(), two, "too small")
	m.Update(t.Context(), again, nil, trace.ResizeForUpdated)
	m.Done(t.Context(), two)
	if c := m.Conditions("u"); !m.InProgress("u") || len(c) != 1 || c[0].Reason != "" || c[0].ObservedGeneration != 3 {
		t.Errorf("after the end of the first: %+v", c)
	}
	m.Done(t.Context(), again)
	if c := m.Conditions("u"); m.InProgress("u") || len(c) != 0 {
		t.Errorf("at the end: %+v", c)
	}
}

// A container without a limit has that of its pod. If the pod's own limit could not be changed afterwards, and the resize is taken back, the
// container still has the new one.
func TestActuatedHasThePodsLimit(t *testing.T) {
	leveled := func(memory string) *v1.Pod {
		p := podWith("1", 1)
		p.Spec.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}}
		return p
	}
	m, err := New(Config{Dir: t.TempDir(), Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: true} }})
	if err != nil {
		t.Fatal(err)
	}
	m.Add(leveled("128Mi"))
	m.Update(t.Context(), leveled("32Mi"), nil, trace.ResizeForUpdated)
	if err := m.Actuate(leveled("32Mi"), "c"); err != nil {
		t.Fatal(err)
	}
	m.Update(t.Context(), leveled("128Mi"), nil, trace.ResizeForUpdated)
	for name, want := range map[string]string{"c": "32Mi", "": "128Mi"} {
		if r, _ := m.Actuated("u", name); r.Limits.Memory().String() != want {
			t.Errorf("%q has %s, want %s", name, r.Limits.Memory(), want)
		}
	}
}

// A pod that has CPUs for itself is not resized, even if there is room.
func TestPinned(t *testing.T) {
	var was string
	rec := tracetest.New(t)
	m, err := New(Config{
		Dir: t.TempDir(), Bus: rec.Bus(), Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: true} },
		Refuse: func(pod, allocated *v1.Pod) Refusal {
			was = cpu(allocated) + " to " + cpu(pod)
			return Refusal{Ground: trace.ResizeOfOwnCPUs, Message: "it has CPUs for itself"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Add(podWith("1", 1))
	got, _ := m.Update(t.Context(), podWith("2", 2), nil, trace.ResizeForUpdated)
	conditions := m.Conditions("u")
	if cpu(got) != "1" || was != "1 to 2" || len(conditions) != 1 || conditions[0].Reason != v1.PodReasonInfeasible || conditions[0].Message != "it has CPUs for itself" {
		t.Errorf("%s CPUs, %s, %+v", cpu(got), was, conditions)
	}
	m.Update(t.Context(), podWith("2", 2), nil, trace.ResizeForRemoved) // the same
	if told := tracetest.Events[trace.Resize](rec); len(told) != 1 || told[0] != (trace.Resize{Op: trace.ResizeRefused, Ground: trace.ResizeOfOwnCPUs}) {
		t.Errorf("%+v", told)
	}
}

// The file has upstream's format: a checksum of the dumped data.
func TestCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	const data = `{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":"1"}}},"PodLevelResources":null,"EmptyDirVolumeLimits":null}}}`
	all, err := load(path)
	if err != nil || len(all) != 0 {
		t.Errorf("no file: %v, %v", all, err)
	}
	i := infoOf(podWith("1", 1))
	all["u"] = i
	saveAs(t, path, all)
	text, _ := os.ReadFile(path)
	var cp checkpoint
	if err := json.Unmarshal(text, &cp); err != nil || cp.Data != data {
		t.Errorf("written %s, %v", text, err)
	}
	if all, err = load(path); err != nil || len(all) != 1 {
		t.Errorf("read back: %v, %v", all, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "cpu", "gpu", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(path); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("spoilt: %v", err)
	}
}

// A corrupt checkpoint is reported and renamed. It does not count as one without pods: a resize that waits for
// resources does not count as allocated.
func TestSpoiltCheckpoint(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "state")
	saveAs(t, whole, map[types.UID]info{"u": infoOf(podWith("1", 1))})
	good, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "half written": string(good[:len(good)/2]), "zeros": strings.Repeat("\x00", len(good)), "another document": "[]",
		"a checksum of nothing": `{"data":"","checksum":0}`, "data that is none": `{"data":"x","checksum":` + fmt.Sprint(checksum("x")) + `}`,
	} {
		for _, file := range []string{allocatedFile, actuatedFile} {
			dir, rec := t.TempDir(), tracetest.New(t)
			path := filepath.Join(dir, file)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := New(Config{Dir: dir, Bus: rec.Bus(), Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Reason: "OutOfcpu", Message: "no cpu"} }})
			if err != nil {
				t.Errorf("%s %s: %v", name, file, err)
				continue
			}
			logs := tracetest.Events[trace.Log](rec)
			if len(logs) != 1 || !strings.Contains(logs[0].Message, path) || !strings.Contains(logs[0].Message, "is lost") {
				t.Errorf("%s %s: told %+v", name, file, logs)
			}
			if kept, err := os.ReadFile(path + ".unreadable"); err != nil || string(kept) != text {
				t.Errorf("%s %s: kept %q, %v", name, file, kept, err)
			}
			pod := podWith("2", 2)
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", AllocatedResources: podWith("1", 1).Spec.Containers[0].Resources.Requests}}
			if got := cpu(m.Add(pod)); got != "1" {
				t.Errorf("%s %s: allocated %s, want what its status says", name, file, got)
			}
		}
	}
}

// A pod that waits for resources continues to wait under the next agent, which repeats no event.
func TestPendingOutlivesTheAgent(t *testing.T) {
	dir, events := t.TempDir(), &told{}
	cfg := Config{Dir: dir, Events: events, Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Reason: "OutOfcpu", Message: "no cpu"} }}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.Add(podWith("1", 1))
	m.Update(t.Context(), podWith("2", 2), nil, trace.ResizeForUpdated)
	if err := m.saveAdded(); err != nil {
		t.Fatal(err)
	}
	was := m.Conditions("u")
	was[0].LastTransitionTime.Time = was[0].LastTransitionTime.Add(-time.Hour)

	if m, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	pod := podWith("2", 2)
	pod.Status.Conditions = was
	if got := m.Add(pod); cpu(got) != "1" {
		t.Errorf("allocated %s without asking", cpu(got))
	}
	m.Update(t.Context(), pod, nil, trace.ResizeForUpdated)
	got := m.Conditions("u")
	if len(got) != 1 || got[0].Type != v1.PodResizePending || got[0].Reason != v1.PodReasonDeferred || !got[0].LastTransitionTime.Equal(&was[0].LastTransitionTime) {
		t.Errorf("conditions %v, want %v", got, was)
	}
	if len(events.reasons) != 1 {
		t.Errorf("told %v", events.reasons)
	}
	// A resize that may have finished is in progress until the pod is synced: nobody has told of its end.
	pod = podWith("1", 3)
	pod.Status.Conditions = append(was, v1.PodCondition{Type: v1.PodResizeInProgress, Status: v1.ConditionTrue, ObservedGeneration: 1})
	if m, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	m.Add(pod)
	if got := m.Conditions("u"); len(got) != 1 || got[0].Type != v1.PodResizeInProgress || got[0].ObservedGeneration != 1 {
		t.Errorf("conditions %v", got)
	}
	if m.Done(t.Context(), pod); len(m.Conditions("u")) != 0 || events.reasons[len(events.reasons)-1] != "Normal ResizeCompleted Pod resize completed" {
		t.Errorf("conditions %v, told %v", m.Conditions("u"), events.reasons)
	}
}

// TestFoundAsUpstreamLeavesIt: a resize is in progress if containers lack the resources that they should have. In
// upstream's files, only the actuated resources have the limits that a container has from its pod.
func TestFoundAsUpstreamLeavesIt(t *testing.T) {
	const whole = `"PodLevelResources":{"limits":{"memory":"128Mi"},"requests":{"cpu":"30m","memory":"64Mi"}},"EmptyDirVolumeLimits":null}`
	allocated := `{"ContainerResources":{"c":{"requests":{"cpu":"10m","memory":"16Mi"}}},` + whole
	for name, c := range map[string]struct {
		actuated string
		want     int
	}{
		"as given":             {`{"ContainerResources":{"c":{"limits":{"memory":"128Mi"},"requests":{"cpu":"10m","memory":"16Mi"}}},` + whole, 0},
		"as this agent writes": {allocated, 0},
		"another limit":        {`{"ContainerResources":{"c":{"limits":{"memory":"64Mi"},"requests":{"cpu":"10m","memory":"16Mi"}}},` + whole, 1},
		"another request":      {`{"ContainerResources":{"c":{"limits":{"memory":"128Mi"},"requests":{"cpu":"5m","memory":"16Mi"}}},` + whole, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{allocatedFile: allocated, actuatedFile: c.actuated} {
				var i info
				if err := json.Unmarshal([]byte(text), &i); err != nil {
					t.Fatal(err)
				}
				saveAs(t, filepath.Join(dir, file), map[types.UID]info{"u": i})
			}
			m, err := New(Config{Dir: dir, Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: true} }})
			if err != nil {
				t.Fatal(err)
			}
			var pod v1.Pod
			pod.UID, pod.Spec.Containers = "u", []v1.Container{{Name: "c"}}
			m.Add(&pod)
			if got := m.Conditions("u"); len(got) != c.want {
				t.Errorf("conditions %v, want %d", got, c.want)
			}
		})
	}
}
