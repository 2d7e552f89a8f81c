package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is one pod sandbox. Identity and config never change; the rest is guarded by Server.mu.
//
//	RunPodSandbox ──▶ READY ──StopPodSandbox, or its process died──▶ NOTREADY ──RemovePodSandbox──▶ gone
type sandbox struct {
	id, name  string
	order     uint64
	config    *runtimeapi.PodSandboxConfig
	handler   string
	createdAt int64

	state      runtimeapi.PodSandboxState
	ip         string
	overhead   *runtimeapi.LinuxContainerResources
	resources  *runtimeapi.LinuxContainerResources
	containers map[string]*container
}

func (sb *sandbox) ready() bool { return sb.state == runtimeapi.PodSandboxState_SANDBOX_READY }

func (sb *sandbox) subject() subject { return subject{pod: sb.config.GetMetadata().GetName()} }

func (sb *sandbox) namespaces() *runtimeapi.NamespaceOption {
	return sb.config.GetLinux().GetSecurityContext().GetNamespaceOptions()
}

func (sb *sandbox) hostNetwork() bool {
	return sb.namespaces().GetNetwork() == runtimeapi.NamespaceMode_NODE
}

func (sb *sandbox) sortedContainers() []*container {
	return slices.SortedFunc(maps.Values(sb.containers), func(a, b *container) int { return cmp.Compare(a.order, b.order) })
}

// sandboxExited records the end of a sandbox's process.
func (s *Server) sandboxExited(sb *sandbox) {
	if !sb.ready() {
		return
	}
	sb.state = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	s.emit(runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT, sb.id, sb)
}

// ExitSandbox makes a sandbox's own process exit, as if the pause process died. Its containers continue to run.
func (s *Server) ExitSandbox(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sb, err := s.findSandbox(id)
	if err != nil {
		return fmt.Errorf("sandbox %q: %w", id, err)
	}
	s.sandboxExited(sb)
	return nil
}

// findSandbox accepts a complete ID or an unambiguous prefix.
func (s *Server) findSandbox(id string) (*sandbox, error) { return find(s.sandboxes, id) }

func find[T any](m map[string]*T, id string) (*T, error) {
	if v, ok := m[id]; ok {
		return v, nil
	}
	var found *T
	for full, v := range m {
		if id != "" && strings.HasPrefix(full, id) {
			if found != nil {
				return nil, fmt.Errorf("id %q is ambiguous: %w", id, errInvalid)
			}
			found = v
		}
	}
	if found == nil {
		return nil, errNotFound
	}
	return found, nil
}

// lookup is find for calls that do nothing if the object does not exist: it then returns nil.
func lookup[T any](m map[string]*T, kind, id string) (*T, error) {
	v, err := find(m, id)
	if err != nil && !errors.Is(err, errNotFound) {
		return nil, fmt.Errorf("an error occurred when try to find %s %q: %w", kind, id, err)
	}
	return v, nil
}

// reserve reserves a name for an ID.
func reserve(names map[string]string, name, id string) error {
	if other, ok := names[name]; ok {
		return &reservedError{name, other}
	}
	names[name] = id
	return nil
}

// newID returns 64 hexadecimal digits.
func (s *Server) newID() string {
	return fmt.Sprintf("%016x%016x%016x%016x", s.rand.Uint64(), s.rand.Uint64(), s.rand.Uint64(), s.rand.Uint64())
}

// nextOrder numbers sandboxes and containers in the order of their creation, the order of every listing.
func (s *Server) nextOrder() uint64 {
	s.order++
	return s.order
}

// now returns the time in nanoseconds, as in the CRI.
func now() int64 { return time.Now().UnixNano() }

// ipPool allocates addresses of 10.200.0.0/16 and reuses an address as late as possible.
type ipPool struct {
	last uint16
	used map[uint16]bool
}

func (p *ipPool) take() (string, error) {
	if p.used == nil {
		p.used = map[uint16]bool{}
	}
	for range 1 << 16 {
		p.last++
		if p.last < 2 || p.last == 0xffff || p.used[p.last] { // network, gateway, broadcast
			continue
		}
		p.used[p.last] = true
		return fmt.Sprintf("10.200.%d.%d", p.last>>8, p.last&0xff), nil
	}
	return "", fmt.Errorf("no addresses available in 10.200.0.0/16")
}

func (p *ipPool) release(ip string) {
	var high, low uint16
	if _, err := fmt.Sscanf(ip, "10.200.%d.%d", &high, &low); err == nil {
		delete(p.used, high<<8|low)
	}
}
