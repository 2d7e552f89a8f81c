package resize

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The checkpoints' names below the root directory.
const (
	allocatedFile = "allocated_pods_state"
	actuatedFile  = "actuated_pods_state"
)

// Config is what a Manager needs.
type Config struct {
	// Dir is the kubelet's root directory.
	Dir string
	// Admit reports whether the pod, with its requested resources, fits on the node together with the others, and if not, why. It is tried
	// again, unless the reason is Infeasible.
	Admit func(pod *v1.Pod, others []*v1.Pod) Verdict
	// Refuse says why a pod can never be resized as its spec requests, whatever is free on the node; the zero Refusal if it can. May be
	// nil. allocated is the pod as it is now.
	Refuse func(pod, allocated *v1.Pod) Refusal
	// Volumes is the feature gate InPlacePodVerticalScalingMemoryBackedVolumes: the size limits of emptyDir volumes in memory can change.
	Volumes bool
	// Try gives the containers of a pod that fits what they request for themselves, such as CPUs. If that is possible, end keeps it, or
	// undoes it; otherwise, message says why not, and infeasible that it is not tried again. May be nil.
	Try func(ctx context.Context, pod, allocated *v1.Pod) (end func(keep bool), infeasible bool, message string)
	// Events may be nil.
	Events events.Publisher
	Bus    *trace.Bus
}

// Verdict says whether a pod fits as it would be resized.
type Verdict struct {
	Fits bool
	// Reason is that of a rejected pod, Message for people.
	Reason, Message string
	// Preemption is what must happen before a critical pod fits.
	Preemption
}

// Preemption are pods that must terminate because a critical one is resized.
type Preemption struct {
	Victims []*v1.Pod
	// Short is a resource of which there is too little until they have terminated.
	Short v1.ResourceName
}

// Refusal is why the agent refuses a resize.
type Refusal struct {
	// Ground is the reason for programs, Message the one for people.
	Ground  trace.ResizeGround
	Message string
}

// Manager keeps the resources of the node's pods. Safe for concurrent use.
type Manager struct {
	cfg Config

	added chan struct{} // requests Run to save
	disk  sync.Mutex    // held while the checkpoints are written; taken with mu

	mu         sync.Mutex
	lost       bool // a checkpoint could not be read: the pods' statuses have the allocated resources
	unsaved    bool // the checkpoints are not as they should be
	allocated  map[types.UID]info
	actuated   map[types.UID]info // of pods that were resized, and of those that an earlier agent saved
	conditions map[types.UID]conditions
	waiting    map[types.UID]wait
	undecided  map[types.UID]bool      // pods whose resize was not decided since they were added
	began      map[types.UID]time.Time // when the cgroups of a pod began to change
	leaving    map[types.UID]bool      // pods that were preempted for resizes, until they have terminated
}

// conditions of one pod; nil for none.
type conditions struct{ pending, progress *v1.PodCondition }

// wait is a resize that waits for free resources.
type wait struct {
	pod   trace.Pod
	since time.Time
}

// New reads the checkpoints.
func New(cfg Config) (*Manager, error) {
	if cfg.Dir == "" || cfg.Admit == nil {
		return nil, errors.New("resize: Config needs Dir and Admit")
	}
	m := &Manager{cfg: cfg, added: make(chan struct{}, 1), conditions: map[types.UID]conditions{}, waiting: map[types.UID]wait{}, undecided: map[types.UID]bool{}, began: map[types.UID]time.Time{}, leaving: map[types.UID]bool{}}
	var err error
	if m.allocated, err = m.recover(allocatedFile); err != nil {
		return nil, err
	}
	if m.actuated, err = m.recover(actuatedFile); err != nil {
		return nil, err
	}
	if !cfg.Volumes {
		ignoreLimits(m.allocated, m.actuated)
	}
	return m, nil
}

// recover reads a checkpoint. A corrupt one is reported and renamed: not starting the agent would be worse, and the
// pods' statuses have the allocated resources.
func (m *Manager) recover(name string) (map[types.UID]info, error) {
	all, err := load(filepath.Join(m.cfg.Dir, name))
	spoilt, ok := errors.AsType[errUnreadable](err)
	if !ok {
		return all, err
	}
	aside, err := wholefile.Aside(spoilt.path)
	message := fmt.Sprintf("what pods were allocated is lost, and taken from their statuses: %v; the file is %s now", spoilt, aside)
	if err != nil {
		message = fmt.Sprintf("what pods were allocated is lost, and taken from their statuses: %v; it cannot be set aside: %v", spoilt, err)
	}
	trace.Point(m.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelError, Message: message})
	m.lost = true
	return map[types.UID]info{}, nil
}

// Forget removes a pod that is gone.
func (m *Manager) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waited(trace.Span{}, uid, trace.Resize{End: trace.ResizeTerminated, Priority: UnknownPriority})
	delete(m.began, uid)
	delete(m.leaving, uid)
	delete(m.undecided, uid)
	delete(m.allocated, uid)
	delete(m.actuated, uid)
	delete(m.conditions, uid)
}

// Keep forgets the pods that are not known: they were deleted while no agent ran.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, RemoveOrphanedPods.
func (m *Manager) Keep(known func(types.UID) bool) {
	m.mu.Lock()
	all := slices.Collect(maps.Keys(m.allocated))
	m.mu.Unlock()
	for _, uid := range all {
		if !known(uid) {
			m.Forget(uid)
		}
	}
}
