package node

import (
	"context"
	"errors"
	"net"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config has the node's identity and the sources of the facts about it. Callbacks may be nil; they are called from one
// goroutine at a time, and must not block for long.
//
// Many fields: a Node object has many facts, and each is from another part.
type Config struct {
	Name     string
	Hostname string // Empty means Name.
	// Client registers and watches; Heartbeat, which is not throttled, writes the status and the lease.
	Client, Heartbeat kubeapi.Interface
	// Self is shared with the rest of the agent; nil means a new one.
	Self *Self
	// NoRegister is registerNode: false: the Node object is created by others.
	NoRegister bool
	// OnlyExisting keeps the agent from adopting a Node object if the API server forbids to create it (feature gate
	// KubeletRegistrationGetOnExistsOnly).
	OnlyExisting bool
	// Labels, Taints, ProviderID and AttachDetach (enableControllerAttachDetach) are written when the object is created.
	Labels       map[string]string
	Taints       []v1.Taint
	ProviderID   string
	AttachDetach bool
	// ExternalCloud is --cloud-provider=external.
	ExternalCloud bool
	// IPs is --node-ip: none, one, or one of each family.
	IPs []net.IP
	// NoStorage is localStorageCapacityIsolation: false: a node without ephemeral-storage is ready.
	NoStorage bool
	// Info does not change while the agent runs: see ReadInfo. The runtime's version is in Runtime.
	Info v1.NodeSystemInfo
	// Cgroups describes the node's cgroups; it is not part of its object.
	Cgroups Cgroups
	// Port is the port of the HTTPS server.
	Port int32
	// Declared is declaredFeatures: see DeclaredFeatures.
	Declared []string
	// MaxImages is nodeStatusMaxImages; -1 means no limit.
	MaxImages int32

	// Resources returns capacity and allocatable, from allocatable.Compute and the device plugins. It may be called from several
	// goroutines.
	Resources func() (capacity, allocatable v1.ResourceList)
	// Fresh reports whether the node was made anew: then an existing object's extended resources are of an earlier one, and are set to
	// zero when the node is registered. May be nil.
	Fresh func() bool
	// Images lists the images; it is called at most every 30 s, in a goroutine of its own, and returns when the context ends.
	Images func(context.Context) ([]Image, error)
	// Runtime returns what the runtime reports about itself. It may be called from several goroutines.
	Runtime func() Runtime
	// NotReady returns why the node is not ready: runtime, network, PLEG, storage, shutdown. No error is Ready.
	NotReady func() []error
	// Warning is appended to the message of the Ready condition: what the node lacks, although it is ready; "" for nothing.
	Warning string
	// Pressure returns the resources that are under pressure.
	Pressure func() Pressure
	// VolumesInUse returns the attachable volumes in use; false if they are not known yet.
	VolumesInUse func() ([]v1.UniqueVolumeName, bool)
	// Seen receives the object after each change, the newest one last, so that volumes that are reported in use may be mounted.
	Seen func(*v1.Node)
	// HeartbeatFailed is called when writing the status or the lease has failed repeatedly; connections may be broken. It may be called from
	// several goroutines.
	HeartbeatFailed func()

	// StatusFrequency is nodeStatusUpdateFrequency, ReportFrequency nodeStatusReportFrequency, LeaseDuration
	// nodeLeaseDurationSeconds. Zero means 10 s, 5 min, 40 s.
	StatusFrequency, ReportFrequency, LeaseDuration time.Duration

	Events events.Publisher // nil records none
	// Started is called after the Event of the start; may be nil.
	Started func(ctx context.Context)
	Bus     *trace.Bus
}

// Image is one image of the runtime.
type Image struct {
	Digests, Tags []string // Names with digest, and with tag.
	Size          int64    // Bytes.
}

// Runtime is the result of the CRI's Version and Status calls.
type Runtime struct {
	Name, Version string // For example containerd, 2.4.2.
	Handlers      []v1.NodeRuntimeHandler
	Features      *v1.NodeFeatures // nil if the runtime does not report them
}

// Pressure says which resources of the node are under pressure.
type Pressure struct{ Memory, Disk, PID bool }

func (c *Config) check() error {
	var errs []error
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"Name", c.Name == ""},
		{"Client", c.Client == nil},
		{"Resources", c.Resources == nil},
		{"NotReady", c.NotReady == nil},
	} {
		if f.missing {
			errs = append(errs, errors.New("node: Config."+f.name+" is missing"))
		}
	}
	if len(c.IPs) > 2 || (len(c.IPs) == 2 && (c.IPs[0].To4() == nil) == (c.IPs[1].To4() == nil)) {
		errs = append(errs, errors.New("node: --node-ip takes one address, or one IPv4 and one IPv6 address"))
	}
	return errors.Join(errs...)
}

func (c *Config) fill() {
	if c.Hostname == "" {
		c.Hostname = c.Name
	}
	if c.Self == nil {
		c.Self = NewSelf()
	}
	if c.Heartbeat == nil {
		c.Heartbeat = c.Client
	}
	for _, d := range []struct {
		d *time.Duration
		v time.Duration
	}{{&c.StatusFrequency, 10 * time.Second}, {&c.ReportFrequency, 5 * time.Minute}, {&c.LeaseDuration, 40 * time.Second}} {
		if *d.d <= 0 {
			*d.d = d.v
		}
	}
	if c.Images == nil {
		c.Images = func(context.Context) ([]Image, error) { return nil, nil }
	}
	if c.Runtime == nil {
		c.Runtime = func() Runtime { return Runtime{} }
	}
	if c.Pressure == nil {
		c.Pressure = func() Pressure { return Pressure{} }
	}
	if c.VolumesInUse == nil {
		c.VolumesInUse = func() ([]v1.UniqueVolumeName, bool) { return nil, false }
	}
	if c.Seen == nil {
		c.Seen = func(*v1.Node) {}
	}
	if c.HeartbeatFailed == nil {
		c.HeartbeatFailed = func() {}
	}
}
