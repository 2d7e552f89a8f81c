package proxy

import (
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxPods bounds the pods that are known, maxIDs their sandboxes and their containers, each. The kubelet makes them, and has fewer.
const (
	maxPods = 1 << 10
	maxIDs  = 1 << 14
)

// subject is whom a call is about, as far as that is known.
type subject struct {
	pod       trace.Pod
	trace     trace.TraceID
	sandbox   string
	container string // its name
	id        string // the container's
}

// pods knows whose sandboxes and containers are, and how far the pods are.
type pods struct {
	bus    *trace.Bus
	forget func(trace.Pod) // told of each that is gone

	mu         sync.Mutex
	byUID      map[string]*pod
	sandboxes  map[string]*pod
	containers map[string]container
	stopped    bool
	// The lists of all that the kubelet has asked for: before, what was there when the proxy began is not known.
	listedSandboxes, listedContainers bool
	starting                          int // pods whose start is to be settled
}

type container struct {
	pod     *pod
	sandbox string
	name    string
}

func newPods(bus *trace.Bus, forget func(trace.Pod)) *pods {
	return &pods{bus: bus, forget: forget, byUID: map[string]*pod{}, sandboxes: map[string]*pod{}, containers: map[string]container{}}
}

// subject finds out whom a request is about. A pod that is new is remembered.
func (ps *pods) subject(req proto.Message) subject {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	switch r := req.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		return ps.pod(r.GetConfig().GetMetadata()).subject("")
	case *runtimeapi.CreateContainerRequest:
		p := ps.sandboxes[r.GetPodSandboxId()]
		if p == nil {
			p = ps.pod(r.GetSandboxConfig().GetMetadata())
			ps.ofSandbox(r.GetPodSandboxId(), p)
		}
		s := p.subject(r.GetPodSandboxId())
		s.container = r.GetConfig().GetMetadata().GetName()
		return s
	case *runtimeapi.PullImageRequest:
		if m := r.GetSandboxConfig().GetMetadata(); m.GetUid() != "" {
			return ps.pod(m).subject("")
		}
		return subject{}
	}
	if r, ok := req.(interface{ GetContainerId() string }); ok {
		c := ps.containers[r.GetContainerId()]
		s := c.pod.subject(c.sandbox)
		s.container, s.id = c.name, r.GetContainerId()
		return s
	}
	if r, ok := req.(interface{ GetPodSandboxId() string }); ok {
		return ps.sandboxes[r.GetPodSandboxId()].subject(r.GetPodSandboxId())
	}
	return subject{}
}

// pod returns the pod that a sandbox's metadata name; nil where they name none. Called with mu.
func (ps *pods) pod(m *runtimeapi.PodSandboxMetadata) *pod {
	if m.GetUid() == "" {
		return nil
	}
	p := ps.byUID[m.GetUid()]
	if p == nil {
		p = &pod{id: trace.Pod{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUid()}, trace: trace.NewTraceID(), has: map[string]bool{}, runs: map[string]bool{}}
		if old := room(ps.byUID, maxPods); old != nil {
			ps.drop(old)
		}
		ps.byUID[m.GetUid()] = p
	}
	return p
}

// ofSandbox notes whose a sandbox is. Called with mu.
func (ps *pods) ofSandbox(id string, p *pod) {
	if id != "" && p != nil {
		room(ps.sandboxes, maxIDs)
		ps.sandboxes[id] = p
		p.has[id] = true
	}
}

// ofContainer notes whose a container is. Called with mu.
func (ps *pods) ofContainer(id string, c container) {
	if id != "" && c.pod != nil {
		room(ps.containers, maxIDs)
		ps.containers[id] = c
	}
}

// room forgets one where there are too many, and returns it.
func room[V any](m map[string]V, most int) (old V) {
	if len(m) < most {
		return old
	}
	for id, old := range m {
		delete(m, id)
		return old
	}
	return old
}

// wantsList reports whether a list tells something that is not known. A list with a filter has not all.
func (ps *pods) wantsList(req proto.Message) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	switch r := req.(type) {
	case *runtimeapi.ListPodSandboxRequest:
		return !ps.listedSandboxes && all(r.GetFilter())
	case *runtimeapi.ListContainersRequest:
		return (!ps.listedContainers || ps.starting > 0) && all(r.GetFilter())
	}
	return false
}

// all reports whether a filter lets all through.
func all(filter proto.Message) bool { return proto.Size(filter) == 0 }

// listed takes in the kubelet's own list of all. Called with mu.
func (ps *pods) listed(reply proto.Message) {
	switch r := reply.(type) {
	case *runtimeapi.ListPodSandboxResponse:
		for _, s := range r.GetItems() {
			if ps.sandboxes[s.GetId()] != nil {
				continue
			}
			p := ps.pod(s.GetMetadata())
			ps.ofSandbox(s.GetId(), p)
			if p != nil && s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY {
				ps.found(p, s.GetLabels())
			}
		}
		ps.listedSandboxes = true
	case *runtimeapi.ListContainersResponse:
		for _, c := range r.GetContainers() {
			running := c.GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING
			known, ok := ps.containers[c.GetId()]
			if !ok {
				known = container{pod: ps.sandboxes[c.GetPodSandboxId()], sandbox: c.GetPodSandboxId(), name: c.GetMetadata().GetName()}
				ps.ofContainer(c.GetId(), known)
			}
			if known.pod != nil && !running {
				delete(known.pod.runs, c.GetId())
			}
		}
		ps.listedContainers = ps.listedSandboxes
	}
}

// quiet is how long after its last container's start a pod counts as started: the kubelet starts the containers of a pod one after the
// other, and does not say how many there are. settle is the same for a sandbox that is stopped: a new one may follow.
const (
	quiet  = 10 * time.Second
	settle = 2 * time.Second
)
