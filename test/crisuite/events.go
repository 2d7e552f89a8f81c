package crisuite

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// recorder keeps all events of the server's stream.
type recorder struct {
	mu      sync.Mutex
	all     []*runtimeapi.ContainerEventResponse
	err     error
	changed chan struct{}
}

// record opens the stream and returns when events arrive on it.
func (s *suite) record(t *testing.T) *recorder {
	t.Helper()
	stream, err := s.Runtime.GetContainerEvents(s.ctx, &runtimeapi.GetEventsRequest{})
	check(t, err)
	r := &recorder{changed: make(chan struct{})}
	go func() {
		for {
			e, err := stream.Recv()
			r.mu.Lock()
			if r.err = err; err == nil {
				r.all = append(r.all, e)
			}
			close(r.changed)
			r.changed = make(chan struct{})
			r.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	// The call returns before the server has subscribed, so make events until one arrives.
	eventually(t, "a first event", func() bool {
		p := s.run(t)
		for range 10 {
			if len(r.of(p.id)) > 0 {
				return true
			}
			time.Sleep(20 * time.Millisecond)
		}
		return false
	})
	return r
}

// of returns the events about one container or sandbox.
func (r *recorder) of(id string) []*runtimeapi.ContainerEventResponse {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*runtimeapi.ContainerEventResponse
	for _, e := range r.all {
		if e.GetContainerId() == id {
			found = append(found, e)
		}
	}
	return found
}

// wait returns the first event of a kind about one container or sandbox.
func (r *recorder) wait(t *testing.T, id string, kind runtimeapi.ContainerEventType) *runtimeapi.ContainerEventResponse {
	t.Helper()
	timeout := time.After(patience)
	for {
		r.mu.Lock()
		changed, err := r.changed, r.err
		r.mu.Unlock()
		events := r.of(id)
		if i := slices.IndexFunc(events, func(e *runtimeapi.ContainerEventResponse) bool { return e.GetContainerEventType() == kind }); i >= 0 {
			return events[i]
		}
		if err != nil {
			t.Fatalf("event stream ended: %v", err)
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited %v in vain for %v of %s; had %s", patience, kind, id, kinds(events))
		}
	}
}

func kinds(events []*runtimeapi.ContainerEventResponse) string {
	var names []string
	for _, e := range events {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(e.GetContainerEventType().String(), "CONTAINER_"), "_EVENT"))
	}
	return strings.Join(names, " ")
}

func (s *suite) testEvents(t *testing.T) {
	p := s.run(t)
	created := s.events.wait(t, p.id, runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT)
	equal(t, "sandbox state in its created event", created.GetPodSandboxStatus().GetState(), runtimeapi.PodSandboxState_SANDBOX_READY)
	equal(t, "pod uid in the event", created.GetPodSandboxStatus().GetMetadata().GetUid(), p.config.GetMetadata().GetUid())
	equal(t, "containers in the event", len(created.GetContainersStatuses()), 0)
	s.events.wait(t, p.id, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)

	other := p.create(t, p.container("true"))
	id := p.start(t, "sleep 1; exit 3")
	started := s.events.wait(t, id, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
	equal(t, "containers in the started event", len(started.GetContainersStatuses()), 2)
	stopped := s.events.wait(t, id, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	for _, st := range stopped.GetContainersStatuses() {
		switch st.GetId() {
		case id:
			equal(t, "state in the stopped event", st.GetState(), runtimeapi.ContainerState_CONTAINER_EXITED)
			equal(t, "exit code in the stopped event", st.GetExitCode(), 3)
		case other:
			equal(t, "state of the other container", st.GetState(), runtimeapi.ContainerState_CONTAINER_CREATED)
		default:
			t.Errorf("container %s in the stopped event", st.GetId())
		}
	}
	equal(t, "address in the stopped event", stopped.GetPodSandboxStatus().GetNetwork().GetIp(), s.sandboxStatus(t, p.id).GetNetwork().GetIp())

	_, err := s.Runtime.RemoveContainer(s.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	check(t, err)
	deleted := s.events.wait(t, id, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	equal(t, "containers in the deleted event", len(deleted.GetContainersStatuses()), 1)
	equal(t, "container's events", kinds(s.events.of(id)), "CREATED STARTED STOPPED DELETED")

	_, err = s.Runtime.StopPodSandbox(s.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.id})
	check(t, err)
	stopped = s.events.wait(t, p.id, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	equal(t, "sandbox state in its stopped event", stopped.GetPodSandboxStatus().GetState(), runtimeapi.PodSandboxState_SANDBOX_NOTREADY)
	_, err = s.Runtime.RemovePodSandbox(s.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id})
	check(t, err)
	deleted = s.events.wait(t, p.id, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	equal(t, "containers in the sandbox's deleted event", len(deleted.GetContainersStatuses()), 0)
	equal(t, "sandbox's events", kinds(s.events.of(p.id)), "CREATED STARTED STOPPED DELETED")
	equal(t, "events of a container that never ran", kinds(s.events.of(other)), "CREATED DELETED")
}
