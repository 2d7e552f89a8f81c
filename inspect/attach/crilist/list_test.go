package crilist

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestRecords(t *testing.T) {
	const uid = "00000000-0000-0001-0000-000000000002"
	since := time.Unix(1000, 0)
	box := func(id, name, uid string, at int64) *runtimeapi.PodSandbox {
		return &runtimeapi.PodSandbox{
			Id: id, Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "a", Uid: uid}, CreatedAt: at * 1e9,
			Labels: map[string]string{"app": name, "io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": "a", "io.kubernetes.pod.uid": uid},
		}
	}
	container := func(box, id, name string, state runtimeapi.ContainerState, at int64, restarts string) *runtimeapi.Container {
		return &runtimeapi.Container{
			Id: id, PodSandboxId: box, Metadata: &runtimeapi.ContainerMetadata{Name: name}, State: state, CreatedAt: at,
			Annotations: map[string]string{"io.kubernetes.container.restartCount": restarts},
		}
	}
	got := ""
	for _, r := range records([]*runtimeapi.PodSandbox{
		box("new", "new", "9", 1000), box("2", "down", "7", 20), box("1", "web", uid, 10), {Id: "bad", CreatedAt: 1},
	}, []*runtimeapi.Container{
		container("1", "x", "web", runtimeapi.ContainerState_CONTAINER_EXITED, 1, "0"),
		container("1", "y", "web", runtimeapi.ContainerState_CONTAINER_RUNNING, 2, "3"),
		container("1", "z", "init", runtimeapi.ContainerState_CONTAINER_EXITED, 1, "no number"),
		container("2", "w", "web", runtimeapi.ContainerState_CONTAINER_CREATED, 1, "0"),
		container("gone", "v", "web", runtimeapi.ContainerState_CONTAINER_RUNNING, 1, "0"),
		{},
	}, since) {
		if r.Observer != trace.ObserverRuntimeList || r.Time != since.UnixNano() {
			t.Errorf("got %+v", r)
		}
		switch e := r.Event.(type) {
		case *trace.Milestone:
			got += fmt.Sprintf("%s %s %t", r.Pod, e.Name, e.Adopted)
			if e.Labels != nil {
				got += fmt.Sprintf(" %v", e.Labels.Items)
			}
			got += "\n"
		case *trace.PodStatus:
			got += fmt.Sprintf("%s %s %d/%d %d", r.Pod, e.Phase, e.Ready, e.Total, e.Restarts)
			for _, c := range e.Containers {
				got += fmt.Sprintf(" %s=%s", c.Name, c.State)
			}
			got += "\n"
		}
	}
	want := strings.Join([]string{
		"a/web seen true [{app web}]", "a/web started true", "a/web Running 1/2 3 init=terminated web=running",
		"a/down seen true [{app down}]", "a/down  0/1 0 web=waiting", "",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := TraceOf(uid); got != (trace.TraceID{Hi: 1, Lo: 2}) || !TraceOf("x").IsZero() {
		t.Errorf("got the trace %v", got)
	}
}
