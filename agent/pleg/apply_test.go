package pleg

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// pod builds an observation from words: "sb0" is a ready sandbox, "-sb0" one that is
// not, "web=running" a container in the sandbox named before it.
func pod(at time.Time, words ...string) *podstate.Pod {
	p := &podstate.Pod{UID: "u", Name: "p", Namespace: "ns", At: at}
	sandbox := ""
	for _, w := range words {
		name, state, isContainer := strings.Cut(w, "=")
		if !isContainer {
			sandbox = strings.TrimPrefix(w, "-")
			p.Sandboxes = append(p.Sandboxes, podstate.Sandbox{ID: sandbox, Ready: w == sandbox})
			continue
		}
		p.Containers = append(p.Containers, podstate.Container{ID: name, Name: name, SandboxID: sandbox, State: stateNamed(state)})
	}
	return p
}

func stateNamed(s string) podstate.State {
	for _, state := range []podstate.State{podstate.Created, podstate.Running, podstate.Exited} {
		if state.String() == s {
			return state
		}
	}
	return podstate.Unknown
}

// words is the reverse of pod.
func words(p *podstate.Pod) []string {
	if p == nil {
		return nil
	}
	out := []string{}
	for _, s := range p.Sandboxes {
		ready := "-"
		if s.Ready {
			ready = ""
		}
		out = append(out, ready+s.ID)
		for _, c := range p.Containers {
			if c.SandboxID == s.ID {
				out = append(out, c.ID+"="+c.State.String())
			}
		}
	}
	for _, c := range p.Containers {
		if !strings.Contains(strings.Join(out, " "), c.ID+"=") {
			out = append(out, "orphan "+c.ID+"="+c.State.String())
		}
	}
	return out
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestDiff(t *testing.T) {
	for _, tc := range []struct {
		name      string
		old, next *podstate.Pod
		want      []string
	}{
		{name: "nothing"},
		{name: "same", old: pod(noon, "sb0", "web=running"), next: pod(noon, "sb0", "web=running")},
		{name: "new pod, oldest first", next: pod(noon, "sb0", "log=created", "web=running"), want: []string{"ContainerStarted web", "ContainerCreated log", "SandboxChanged sb0"}},
		{name: "started", old: pod(noon, "sb0", "web=created"), next: pod(noon, "sb0", "web=running"), want: []string{"ContainerStarted web"}},
		{name: "died", old: pod(noon, "sb0", "web=running"), next: pod(noon, "sb0", "web=exited"), want: []string{"ContainerDied web"}},
		{name: "born dead", old: pod(noon, "sb0"), next: pod(noon, "sb0", "web=exited"), want: []string{"ContainerDied web"}},
		{name: "unknown", old: pod(noon, "sb0", "web=running"), next: pod(noon, "sb0", "web=unknown"), want: []string{"SandboxChanged web"}},
		{name: "removed", old: pod(noon, "sb0", "web=exited"), next: pod(noon, "sb0"), want: []string{"ContainerRemoved web"}},
		{name: "sandbox stopped", old: pod(noon, "sb0"), next: pod(noon, "-sb0"), want: []string{"SandboxChanged sb0"}},
		{name: "sandbox replaced", old: pod(noon, "-sb0"), next: pod(noon, "sb1"), want: []string{"SandboxChanged sb1", "SandboxChanged sb0"}},
		{name: "all gone", old: pod(noon, "-sb0", "web=exited"), next: pod(noon), want: []string{"ContainerRemoved web", "SandboxChanged sb0"}},
		{name: "all gone, nil", old: pod(noon, "-sb0", "web=exited"), want: []string{"ContainerRemoved web", "SandboxChanged sb0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, c := range diff(tc.old, tc.next) {
				id := c.container
				if id == "" {
					id = c.sandbox
				}
				got = append(got, fmt.Sprintf("%s %s", c.typ, id))
			}
			equal(t, "changes", tc.want, got)
		})
	}
}

func TestCachePut(t *testing.T) {
	old, later := pod(noon, "sb0", "web=running"), noon.Add(time.Second)
	for _, tc := range []struct {
		name  string
		have  *podstate.Pod
		floor time.Time
		put   *podstate.Pod
		want  []string
	}{
		{name: "first", put: old, want: []string{"sb0", "web=running"}},
		{name: "newer", have: old, put: pod(later, "sb0", "web=exited"), want: []string{"sb0", "web=exited"}},
		{name: "of the same instant", have: old, put: pod(noon, "sb0", "web=exited"), want: []string{"sb0", "web=exited"}},
		{name: "older", have: old, put: pod(noon.Add(-1), "sb0", "web=created"), want: []string{"sb0", "web=running"}},
		{name: "nothing is left", have: old, put: pod(later), want: nil},
		{name: "of a pod that a later list did not show", floor: later, put: old, want: nil},
		{name: "of a pod that is new since the list", floor: noon, put: pod(later, "sb0"), want: []string{"sb0"}},
		{name: "the clock was set back", have: pod(time.Now().Add(time.Hour), "sb0"), put: pod(time.Now(), "-sb0"), want: []string{"-sb0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCache()
			if tc.have != nil {
				c.put(tc.have)
			}
			c.complete(tc.floor)
			c.put(tc.put)
			equal(t, "cache", tc.want, words(c.Get("u")))
			equal(t, "pods", len(tc.want) > 0, len(c.All()) == 1)
		})
	}
}

func TestApply(t *testing.T) {
	labels := map[string]string{kubelettypes.KubernetesPodUIDLabel: "u", kubelettypes.KubernetesPodNameLabel: "p", kubelettypes.KubernetesPodNamespaceLabel: "ns"}
	sandbox := func(id string, ready bool) *runtimeapi.PodSandboxStatus {
		s := &runtimeapi.PodSandboxStatus{Id: id, Labels: labels, State: runtimeapi.PodSandboxState_SANDBOX_NOTREADY}
		if ready {
			s.State = runtimeapi.PodSandboxState_SANDBOX_READY
		}
		return s
	}
	running := func(id string) *runtimeapi.ContainerStatus {
		return &runtimeapi.ContainerStatus{Id: id, Metadata: &runtimeapi.ContainerMetadata{Name: id}, State: runtimeapi.ContainerState_CONTAINER_RUNNING}
	}
	const started, deleted = runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT
	foreign := &runtimeapi.PodSandboxStatus{Id: "x", State: runtimeapi.PodSandboxState_SANDBOX_READY}
	for _, tc := range []struct {
		name string
		have *podstate.Pod
		ev   *runtimeapi.ContainerEventResponse
		want []string // "ask" if the event does not say enough
	}{
		{
			name: "new pod", ev: &runtimeapi.ContainerEventResponse{ContainerId: "web", ContainerEventType: started, PodSandboxStatus: sandbox("sb0", true), ContainersStatuses: []*runtimeapi.ContainerStatus{running("web")}},
			want: []string{"sb0", "web=running"},
		},
		{
			name: "other sandboxes stay as they were", have: pod(noon, "-sb0", "old=exited"),
			ev:   &runtimeapi.ContainerEventResponse{ContainerId: "web", ContainerEventType: started, PodSandboxStatus: sandbox("sb1", true), ContainersStatuses: []*runtimeapi.ContainerStatus{running("web")}},
			want: []string{"-sb0", "old=exited", "sb1", "web=running"},
		},
		{
			name: "what the event does not list has gone", have: pod(noon, "sb0", "old=exited", "web=created"),
			ev:   &runtimeapi.ContainerEventResponse{ContainerId: "web", ContainerEventType: started, PodSandboxStatus: sandbox("sb0", true), ContainersStatuses: []*runtimeapi.ContainerStatus{running("web")}},
			want: []string{"sb0", "web=running"},
		},
		{
			name: "container removed", have: pod(noon, "sb0", "old=exited", "web=running"),
			ev: &runtimeapi.ContainerEventResponse{ContainerId: "old", ContainerEventType: deleted}, want: []string{"sb0", "web=running"},
		},
		{
			name: "sandbox removed", have: pod(noon, "-sb0"),
			ev: &runtimeapi.ContainerEventResponse{ContainerId: "sb0", ContainerEventType: deleted}, want: []string{},
		},
		{name: "something unknown removed", ev: &runtimeapi.ContainerEventResponse{ContainerId: "who", ContainerEventType: deleted}, want: []string{}},
		{name: "not a kubelet's", ev: &runtimeapi.ContainerEventResponse{ContainerId: "x", ContainerEventType: started, PodSandboxStatus: foreign}, want: []string{}},
		{name: "without status", ev: &runtimeapi.ContainerEventResponse{ContainerId: "web", ContainerEventType: started}, want: []string{"ask"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := New(Config{Runtime: runtimeapi.NewRuntimeServiceClient(nil)})
			if err != nil {
				t.Fatal(err)
			}
			if tc.have != nil {
				p.cache.put(tc.have)
			}
			next := p.apply(tc.ev, noon.Add(time.Second))
			got := words(next)
			if next == nil {
				got = []string{"ask"}
			}
			equal(t, "pod", tc.want, got)
		})
	}
}

func TestNewestFirst(t *testing.T) {
	p := &podstate.Pod{
		Sandboxes: []podstate.Sandbox{{ID: "a", Attempt: 0, CreatedAt: noon.Add(time.Hour)}, {ID: "b", Attempt: 1, CreatedAt: noon}},
		Containers: []podstate.Container{
			{ID: "old", Name: "web", Attempt: 1, CreatedAt: noon.Add(time.Hour)},
			{ID: "log", Name: "log", Attempt: 0, CreatedAt: noon.Add(time.Minute)},
			{ID: "new", Name: "web", Attempt: 2, CreatedAt: noon},
		},
	}
	newestFirst(p)
	if got := p.Sandbox().ID; got != "b" {
		t.Errorf("newest sandbox %s, want b, of the later attempt", got)
	}
	if got := p.Newest("web").ID; got != "new" {
		t.Errorf("newest web %s, want new, of the later attempt", got)
	}
}
