package config

import (
	"time"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// Config is the effective, validated configuration, grouped by consumer. Durations and numbers have upstream's meaning: for zero
// and negative values, see the field's documentation.
type Config struct {
	Node       Node
	API        API
	Sources    Sources
	Runtime    Runtime
	Cgroups    Cgroups
	Pods       Pods
	Images     Images
	Containers Containers
	DNS        DNS
	Server     Server
	Tracing    Tracing
	Gates      Gates

	// Kubelet is the whole configuration with defaults and flags applied. A pointer is nil only if its field has no
	// default.
	Kubelet *kubeletv1beta1.KubeletConfiguration
	// Files lists the files that were read: --config first, then the drop-ins in order.
	Files []string
	// NotActedOn are the fields and flags that the user set and that have no effect, sorted by their names.
	NotActedOn []Ignored
}

// Node is the configuration of the agent's process and its node.
type Node struct {
	RootDir          string            // Absolute.
	HostnameOverride string            // Empty means the hostname.
	IPs              []string          // From --node-ip; empty if not set.
	Labels           map[string]string // From --node-labels.
	MaxOpenFiles     int64             // Requested RLIMIT_NOFILE.
	MaxOpenFilesSet  bool              // Set by a file or a flag; otherwise the default is used.
	LockFile         string            // Empty means none.
	ExitOnContention bool              // Exit when another process opens LockFile.
	ExternalCloud    bool              // A cloud provider initializes the node (--cloud-provider=external).
	Mounter          string            // Program that mounts file systems of the network; absolute, or empty for mount.
}

// Tracing is the configuration of the export of spans.
type Tracing struct {
	// Endpoint is the address of the collector, HOST:PORT or a dns, unix or unix-abstract URL; empty if nothing is exported.
	Endpoint string
	// SamplingPerMillion is how many of a million ordinary traces are exported.
	SamplingPerMillion int32
}

// API is the configuration of the API server's clients and of the agent's identity.
type API struct {
	Kubeconfig string // Absolute; empty means standalone.
	Bootstrap  string // Absolute; empty means none.
	CertDir    string // Absolute.
	// CredentialConfig and CredentialBins configure exec credential providers for images; both or neither.
	CredentialConfig, CredentialBins string
	// IgnoreEviction does not subtract eviction thresholds from allocatable.
	IgnoreEviction bool
}

// Sources are the sources of desired pods.
type Sources struct {
	StaticPodPath      string // A directory or one manifest; absolute or empty.
	FileCheckFrequency time.Duration
	URL                string // Of static pods; empty means none.
	URLHeaders         map[string][]string
	URLCheckFrequency  time.Duration
}

// Runtime is the configuration of the container runtime.
type Runtime struct {
	Endpoint       string // A flag, the file or $CONTAINER_RUNTIME_ENDPOINT; if empty, FindRuntime searches.
	EndpointFrom   string // What set Endpoint, for messages: a flag, a file or the variable.
	ImageEndpoint  string // Empty means the runtime's.
	Cgroup         string // Of the runtime's processes, from --runtime-cgroups; empty means unknown.
	RequestTimeout time.Duration
}

// Cgroups is the configuration of the pods' cgroup tree.
type Cgroups struct {
	Root           string // Empty means the hierarchy's root.
	Driver         string // "cgroupfs" or "systemd".
	DriverFrom     string // What set Driver, for messages: a flag or a file; empty is the default.
	PerQOS         bool
	CPUQuota       bool // Enforce CPU limits.
	CPUQuotaPeriod time.Duration
	PodPidsLimit   int64 // -1 means the node's limit.

	// SingleProcessOOMKill is for cgroup v2; v1 always kills a single process.
	SingleProcessOOMKill bool
	// LimitedSwap lets pods use swap.
	LimitedSwap bool
	// MemoryQoS is nil if the feature gate is off.
	MemoryQoS *qos.MemoryPolicy
	// Claims says whether the resources count that pods have by ResourceClaims.
	Claims qos.Claims
	// QOSReserved is the part of memory requests, in percent, that lower QoS classes cannot use; nil for none or if the feature gate
	// is off.
	QOSReserved *int64
}

// Pods is the configuration of running pods.
type Pods struct {
	Max            int32
	LogsDir        string // Absolute.
	SeccompDefault bool   // RuntimeDefault for containers without a profile.
	// FirstRestartBackoff and MaxRestartBackoff are the first and the maximum back-off of CrashLoopBackOff.
	FirstRestartBackoff, MaxRestartBackoff time.Duration
}

// Images is the configuration of pulls and image GC.
type Images struct {
	SerializePulls   bool
	MaxParallelPulls int32 // 0 means no limit; 1 with SerializePulls.
	PullQPS          int32 // 0 means no limit.
	PullBurst        int32
	GCHighPercent    int32
	GCLowPercent     int32
	GCMinimumAge     time.Duration
	GCMaximumAge     time.Duration // 0 disables it.
}

// Containers is the configuration of the GC of dead containers.
type Containers struct {
	MinimumAge      time.Duration
	MaxPerContainer int32 // Negative means no limit.
	MaxTotal        int32 // Negative means no limit.
}

// DNS is the configuration of the pods' resolvers.
type DNS struct {
	ClusterDNS    []string // IP addresses.
	ClusterDomain string
	ResolvConf    string // A file; empty means none.
}

// Server is the configuration of the agent's servers. A port of 0 is disabled.
type Server struct {
	Enabled        bool // For the read-only and HTTPS servers; health has its own port.
	Address        string
	ReadOnlyPort   int32
	HealthzAddress string
	HealthzPort    int32
}
