package podstate

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// State is a container's state as the CRI reports it.
type State uint8

// The states, in the order of a container's life.
const (
	Unknown State = iota
	Created
	Running
	Exited
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case Created:
		return "created"
	case Running:
		return "running"
	case Exited:
		return "exited"
	case Unknown:
	}
	return "unknown"
}

// Pod is everything that the runtime has of one pod. Values are immutable once published: an update creates a new Pod.
type Pod struct {
	UID       types.UID
	Name      string
	Namespace string
	// Sandboxes, newest first.
	Sandboxes []Sandbox
	// Containers of all sandboxes, newest first.
	Containers []Container
	// At is the time of the call to the runtime (or of the event).
	At time.Time
	// Unseen says that the runtime listed the pod but has not returned its status yet: only the ids, names, attempts,
	// states and creation times of its sandboxes and containers are known. This only shows that they exist; do not
	// decide anything else from it.
	Unseen bool
}

// Sandbox is one pod sandbox.
type Sandbox struct {
	ID        string
	Attempt   uint32
	Ready     bool
	CreatedAt time.Time
	// IPs has the primary one first; empty with host network.
	IPs         []string
	HostNetwork bool
	Runtime     string
}

// Container is one container.
//
// Many fields: it is the CRI's status of a container.
type Container struct {
	ID        string
	Name      string
	SandboxID string
	State     State
	// Attempt is the CRI metadata's attempt, which is the restart count.
	Attempt    uint32
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int32
	Reason     string
	Message    string
	// Image is the reference of the spec; ImageID the resolved one.
	Image   string
	ImageID string
	// Hash is the spec hash in the annotations, as its creator wrote it.
	Hash    uint64
	HasHash bool
	LogPath string
	// TerminationMessagePath is the path inside the container, TerminationMessagePolicy
	// File or FallbackToLogsOnError; TerminationLog is the file's path on the host.
	TerminationMessagePath   string
	TerminationMessagePolicy string
	TerminationLog           string
	// PreStop is the hook that the container was created with, nil for none.
	PreStop *v1.LifecycleHandler
	// User is the user of the first process; nil if the runtime does not report it.
	User *User
	// Resources are the kernel's limits; nil if the runtime does not report them.
	Resources *Resources
	// StopSignal is the signal with which the runtime stops the container, such as SIGTERM; "" if the runtime does not report it.
	StopSignal string
	// ImageMounts are the IDs of the images that are mounted, by their paths in the container; nil for none.
	ImageMounts map[string]string
}

// User is the identity of a container's first process.
type User struct {
	UID, GID           int64
	SupplementalGroups []int64
}

// Resources are a container's limits as the runtime reports them; 0 means that it does not.
type Resources struct {
	CPUShares int64
	// CPUQuota and CPUPeriod are in microseconds; a quota of -1 means no limit.
	CPUQuota, CPUPeriod int64
	// Memory is the limit in bytes.
	Memory int64
}

// Newest returns the newest container of that name, or nil.
func (p *Pod) Newest(name string) *Container {
	if p == nil {
		return nil
	}
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return &p.Containers[i]
		}
	}
	return nil
}

// Container returns the container with that id, or nil.
func (p *Pod) Container(id string) *Container {
	if p == nil {
		return nil
	}
	for i := range p.Containers {
		if p.Containers[i].ID == id {
			return &p.Containers[i]
		}
	}
	return nil
}

// Sandbox returns the newest sandbox, or nil.
func (p *Pod) Sandbox() *Sandbox {
	if p == nil || len(p.Sandboxes) == 0 {
		return nil
	}
	return &p.Sandboxes[0]
}

// Active reports whether any sandbox is ready or any container may run.
func (p *Pod) Active() bool {
	if p == nil {
		return false
	}
	for _, s := range p.Sandboxes {
		if s.Ready {
			return true
		}
	}
	for _, c := range p.Containers {
		if c.State == Running || c.State == Unknown {
			return true
		}
	}
	return false
}
