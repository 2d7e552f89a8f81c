package cpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/cpus/state"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The policies of cpuManagerPolicy.
const (
	None   = "none"
	Static = "static"
)

// stateFile is the name of the state file in the kubelet's root directory.
const stateFile = "cpu_manager_state"

// Pods are the node's pods.
type Pods interface {
	// Active returns the pods of which something runs or will run.
	Active() []*v1.Pod
	// Complete reports whether Active returns all of them.
	Complete() bool
}

// Seen is the known state of the runtime.
type Seen interface {
	Get(uid types.UID) *podstate.Pod
}

// Runtime changes the CPUs of containers that run.
type Runtime interface {
	UpdateContainerResources(context.Context, *runtimeapi.UpdateContainerResourcesRequest, ...grpc.CallOption) (*runtimeapi.UpdateContainerResourcesResponse, error)
}

// Config is what a Manager needs.
type Config struct {
	// Policy is cpuManagerPolicy, Options are cpuManagerPolicyOptions. AlphaOptions and BetaOptions are the feature gates
	// CPUManagerPolicyAlphaOptions and CPUManagerPolicyBetaOptions.
	Policy                    string
	Options                   map[string]string
	AlphaOptions, BetaOptions bool
	// PodLevel is the feature gate PodLevelResourceManagers.
	PodLevel bool
	// Resize is the feature gate InPlacePodVerticalScalingExclusiveCPUs: containers that run can have another number of CPUs for themselves.
	Resize bool
	// TopologyPolicy is topologyManagerPolicy.
	TopologyPolicy string
	Machine        numa.Machine
	// Reserved are reservedSystemCPUs; if empty, ReservedNumber of CPUs are chosen: the reservations of CPU, rounded up.
	Reserved       cpuset.CPUSet
	ReservedNumber int
	// Dir is the kubelet's root directory.
	Dir string
	// Period is cpuManagerReconcilePeriod.
	Period  time.Duration
	Pods    Pods
	Seen    Seen
	Runtime Runtime
	Bus     *trace.Bus
}

// Manager has the CPUs of the node's containers. Safe for concurrent use.
type Manager struct {
	cfg    Config
	static *static       // nil with the policy none
	kick   chan struct{} // wakes Run

	mu      sync.Mutex
	content state.Content
	// reusable are the CPUs of init containers of the pod that was admitted last.
	reusable map[string]cpuset.CPUSet
	// set are the CPUs that containers were given, by ID. young are those that the runtime may not show yet, or not as they are.
	set   map[string]string
	young map[string]young
	// refs are the names of pods, by UID, and levels the containers of pods with pod-level resources.
	refs   map[string]trace.Pod
	levels map[string]containersOf
	// trial is the resize that is being tried; nil if there is none.
	trial *trial
}

// New reads the state file, or creates it. A file of another policy, of another machine or other reservations is an error, as upstream.
func New(cfg Config) (*Manager, error) {
	m := &Manager{cfg: cfg, kick: make(chan struct{}, 1), reusable: map[string]cpuset.CPUSet{}, set: map[string]string{}, young: map[string]young{}, refs: map[string]trace.Pod{}, levels: map[string]containersOf{}}
	switch cfg.Policy {
	case None:
		if len(cfg.Options) > 0 {
			return nil, errors.New("cpuManagerPolicyOptions: need cpuManagerPolicy static")
		}
	case Static:
		o, err := parse(cfg.Options, gates{cfg.AlphaOptions, cfg.BetaOptions})
		if err == nil {
			err = o.fits(cfg.Machine, cfg.TopologyPolicy)
		}
		if err != nil {
			return nil, err
		}
		if m.static, err = newStatic(cfg.Machine, o, cfg.Reserved, cfg.ReservedNumber); err != nil {
			return nil, err
		}
		m.static.podLevel = cfg.PodLevel
	default:
		return nil, fmt.Errorf("cpuManagerPolicy: unknown policy %q", cfg.Policy)
	}
	if err := m.load(); err != nil {
		path := filepath.Join(cfg.Dir, stateFile)
		return nil, fmt.Errorf("could not restore state from checkpoint: %w, please drain this node and delete the CPU manager checkpoint file %q before restarting", err, path)
	}
	return m, nil
}

// load reads the state. Only root writes it.
func (m *Manager) load() error {
	text, err := wholefile.Read(filepath.Join(m.cfg.Dir, stateFile), wholefile.Large)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.content = state.Content{Policy: m.cfg.Policy, Assigned: state.Assignments{}, Pods: state.PodCPUAssignments{}}
		if m.static != nil {
			m.content.Default = m.static.pool()
		}
		return m.write()
	case err != nil:
		return err
	}
	if m.content, err = state.Parse(text); err != nil {
		return err
	}
	if m.content.Policy != m.cfg.Policy {
		return fmt.Errorf("configured policy %q differs from state checkpoint policy %q", m.cfg.Policy, m.content.Policy)
	}
	m.dropPods()
	m.restoreBaselines()
	if m.static == nil {
		return nil
	}
	switch {
	case !m.content.Default.IsEmpty():
	case len(m.holders()) == 0:
		m.content.Default = m.static.pool()
		return m.write()
	case !m.static.options.strict: // with it, containers may have all CPUs but the reserved ones; upstream refuses such a file
		return errors.New("default cpuset cannot be empty")
	}
	return m.static.check(m.content)
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
		m.warn("the CPUs of containers cannot be saved: " + err.Error())
	}
}

func (m *Manager) warn(text string) {
	trace.Point(m.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: text})
}

func (m *Manager) tell(span trace.Span, e trace.Allocation) {
	e.Manager, e.Policy = trace.ManagerCPU, m.cfg.Policy
	trace.Point(m.cfg.Bus, span, e)
}

// changed wakes Run.
func (m *Manager) changed() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}
