package cgroup

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Driver is what creates cgroups.
type Driver string

// The kubelet's drivers.
const (
	Cgroupfs Driver = "cgroupfs"
	Systemd  Driver = "systemd"
)

// Config is the configuration of a Manager.
type Config struct {
	// Mount is the mount point of cgroups; "" means /sys/fs/cgroup.
	Mount string
	// Root is the parent cgroup of kubepods; "" means /. EnsureTiers creates it if it is missing (upstream requires that a root
	// other than / exists).
	Root string
	// Driver must be the runtime's driver; "" means cgroupfs.
	Driver Driver
	// Bus receives the events; it may be nil.
	Bus *trace.Bus
	// Node limits all pods together; zero fields mean no limit.
	Node Limits
	// CPUs are the node's CPUs in the kernel's format, for example 0-3; "" does not set them.
	CPUs string
	// Allocatable is the node's memory without the reservations for the system, in bytes.
	Allocatable int64
	// QOSReserved is the part of the memory requests, in percent, that pods of lower QoS classes cannot use; nil disables it.
	QOSReserved *int64
	// MemoryQoS protects and throttles memory on cgroup v2; nil if the feature gate is off.
	MemoryQoS *qos.MemoryPolicy
	// Claims says whether the resources count that pods have by ResourceClaims.
	Claims qos.Claims
	// Reserved are the cgroups of the system whose reservations are enforced.
	Reserved []Reserved
	// PodPidsLimit is the maximum number of processes in a pod; 0 or less means no limit.
	PodPidsLimit int64
	// CFSQuota says whether CPU limits are enforced. CFSPeriod 0 means 100 ms.
	CFSQuota  bool
	CFSPeriod time.Duration
	// OwnCPUs reports whether a container of the pod (with pod-level resources: each) has CPUs for itself: then the pod has no CPU quota.
	// May be nil.
	OwnCPUs func(pod types.UID) bool
	// HugePageSizes are the page sizes of the kernel, such as 2MB; see [HugePageSizes]. A pod that does not request a size gets
	// none of it.
	HugePageSizes []string
}

// Limits are a share of the node: of all pods together, or of the system.
type Limits struct {
	// MilliCPU is a weight, not a cap, in thousandths of a CPU.
	MilliCPU int64
	// Memory is in bytes.
	Memory int64
	// Pids is the number of processes.
	Pids int64
}

// Manager creates and removes cgroups. It is safe for concurrent use; a nil Manager does nothing.
type Manager struct {
	cfg  Config
	v2   bool
	tree []hierarchy
	fs   dirs

	mu     sync.Mutex
	demand demand // that the tiers were last set for
	// refused is why kubepods has not the limit of its memory; nil if it has.
	refused error
	// raised are the tiers whose limit of memory is what they used, because the kernel refused less.
	raised map[string]bool

	written sync.Mutex
	figures map[string]map[string]string // by cgroup: the values of files after they were written; an inner map is replaced, never changed
}

// UnavailableError says why cgroups cannot be managed on this node. If the runtime does not need them, the agent can
// run without them, with a nil Manager.
type UnavailableError struct {
	// Path is the path that was checked.
	Path string
	// Err describes the error and what would be right.
	Err error
}

// Error implements error.
func (e *UnavailableError) Error() string { return fmt.Sprintf("cgroups at %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// New detects the mounted cgroup version and its controllers. It changes nothing. The error is an *UnavailableError if
// the node has no cgroups or they cannot be written.
func New(cfg Config) (*Manager, error) {
	if cfg.Mount == "" {
		cfg.Mount = "/sys/fs/cgroup"
	}
	if cfg.CFSPeriod == 0 {
		cfg.CFSPeriod = 100 * time.Millisecond
	}
	switch cfg.Driver {
	case "":
		cfg.Driver = Cgroupfs
	case Cgroupfs, Systemd:
	default:
		return nil, fmt.Errorf("cgroupDriver %q: want cgroupfs or systemd", cfg.Driver)
	}
	cfg.Root = path.Clean("/" + cfg.Root)
	if cfg.Driver == Systemd && strings.Contains(cfg.Root, "_") {
		return nil, fmt.Errorf("cgroupRoot %q: no _ with the systemd driver, which writes - as _", cfg.Root)
	}
	v2, tree, err := detect(cfg.Mount)
	if err != nil {
		return nil, err
	}
	for _, h := range tree {
		if err := unix.Access(h.dir, unix.W_OK); err != nil {
			return nil, &UnavailableError{h.dir, fmt.Errorf("cannot be written, run as root: %w", err)}
		}
	}
	return &Manager{cfg: cfg, v2: v2, tree: tree, fs: kernel(), raised: map[string]bool{}}, nil
}

// Driver returns the cgroup driver; "" if the agent creates no cgroups.
func (m *Manager) Driver() Driver {
	if m == nil {
		return ""
	}
	return m.cfg.Driver
}

// V2 reports whether this is cgroup v2.
func (m *Manager) V2() bool { return m != nil && m.v2 }
