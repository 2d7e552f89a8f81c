package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/memory/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The policies of memoryManagerPolicy.
const (
	None   = "None"
	Static = "Static"
)

// stateFile is the name of the state file in the kubelet's root directory.
const stateFile = "memory_manager_state"

// Pods are the node's pods.
type Pods interface {
	// Active returns the pods of which something runs or will run.
	Active() []*v1.Pod
	// Complete reports whether Active returns all of them.
	Complete() bool
}

// Config is what a Manager needs.
type Config struct {
	// Policy is memoryManagerPolicy.
	Policy  string
	Machine numa.Machine
	// Reserved is reservedMemory. Its total must be what node allocatable keeps free: Kept.
	Reserved []kubeletv1beta1.MemoryReservation
	Kept     v1.ResourceList
	// PodLevel is the feature gate PodLevelResourceManagers.
	PodLevel bool
	// Resize is the feature gate InPlacePodVerticalScalingExclusiveMemory: containers that run can have more or less memory for themselves.
	Resize bool
	// Dir is the kubelet's root directory.
	Dir  string
	Pods Pods
	Bus  *trace.Bus
}

// Manager has the memory of the node's containers. Safe for concurrent use.
type Manager struct {
	cfg    Config
	static bool

	mu      sync.Mutex
	content state.Content
	// reusable is the memory of init containers of the pod that was admitted last, by NUMA nodes.
	reusable map[string]map[numa.Mask]amounts
	// refs are the names of pods, by UID, and shared the containers that share the memory of a pod with pod-level resources.
	refs   map[string]trace.Pod
	shared map[string]map[string]bool
	// trial is the resize that is being tried; nil if there is none.
	trial *trial
}

// New reads the state file, or creates it. A file of another policy, of another machine or other reservations is an error, as upstream.
func New(cfg Config) (*Manager, error) {
	m := &Manager{cfg: cfg, reusable: map[string]map[numa.Mask]amounts{}, refs: map[string]trace.Pod{}, shared: map[string]map[string]bool{}}
	var start state.NUMANodeMap
	switch cfg.Policy {
	case None:
	case Static:
		m.static = true
		reserved, err := reservedByNode(cfg.Machine, cfg.Kept, cfg.Reserved)
		if err != nil {
			return nil, err
		}
		if start, err = fresh(cfg.Machine, reserved); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("memoryManagerPolicy: unknown policy %q", cfg.Policy)
	}
	if err := m.load(start); err != nil {
		path := filepath.Join(cfg.Dir, stateFile)
		return nil, fmt.Errorf("could not restore state from checkpoint: %w, please drain this node and delete the memory manager checkpoint file %q before restarting", err, path)
	}
	return m, nil
}

// load reads the state. Only root writes it. start is that without containers; nil with the policy None.
func (m *Manager) load(start state.NUMANodeMap) error {
	text, err := wholefile.Read(filepath.Join(m.cfg.Dir, stateFile), wholefile.Large)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.content = state.Content{PolicyName: m.cfg.Policy, MachineState: state.NUMANodeMap{}, Entries: state.ContainerMemoryAssignments{}, PodEntries: state.PodMemoryAssignments{}}
		if m.static {
			m.content.MachineState = start
		}
		return m.write()
	case err != nil:
		return err
	}
	if m.content, err = state.Parse(text); err != nil {
		return err
	}
	if m.content.PolicyName != m.cfg.Policy {
		return fmt.Errorf("[memorymanager] configured policy %q differs from state checkpoint policy %q", m.cfg.Policy, m.content.PolicyName)
	}
	m.dropPods()
	if !m.static {
		return nil
	}
	if len(m.content.MachineState) == 0 {
		if len(m.content.Entries) > 0 {
			return errors.New("[memorymanager] machine state can not be empty when it has memory assignments")
		}
		m.content.MachineState = start
		return m.write()
	}
	if err := check(m.content, start); err != nil {
		return fmt.Errorf("[memorymanager] %w", err)
	}
	return nil
}

func (m *Manager) write() error {
	text, err := state.Format(m.content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.cfg.Dir, 0o750); err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(m.cfg.Dir, stateFile), text, 0o600)
}

// save writes the state. As upstream, an allocation is valid even if it cannot be saved: the next one tries again.
func (m *Manager) save() {
	if err := m.write(); err != nil {
		trace.Point(m.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: "the memory of containers cannot be saved: " + err.Error()})
	}
}

func (m *Manager) tell(span trace.Span, e trace.Allocation) {
	e.Manager, e.Policy = trace.ManagerMemory, m.cfg.Policy
	trace.Point(m.cfg.Bus, span, e)
}
