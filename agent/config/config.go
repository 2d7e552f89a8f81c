package config

import (
	"time"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
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
	Gates      Gates

	// Kubelet is the whole configuration with defaults and flags applied. No pointer that has a default is nil.
	Kubelet *kubeletv1beta1.KubeletConfiguration
	// Files lists what was read: --config first, then the drop-ins in order.
	Files []string
	// NotActedOn are the fields and flags that the user set and that are not supported, sorted: field paths, or flags with dashes.
	NotActedOn []string
}

// Node is about the agent's process and its node.
type Node struct {
	RootDir          string            // Absolute.
	HostnameOverride string            // Empty is the hostname.
	IPs              []string          // From --node-ip; empty when not given.
	Labels           map[string]string // From --node-labels.
	MaxOpenFiles     int64             // Wanted RLIMIT_NOFILE.
	MaxOpenFilesSet  bool              // By a file or a flag; else it is the default.
	LockFile         string            // Empty is none.
	ExitOnContention bool              // Exit when another process opens LockFile.
}

// API is how to reach the API server and who the agent is there.
type API struct {
	Kubeconfig string // Absolute; empty is standalone.
	Bootstrap  string // Absolute; empty is none.
	CertDir    string // Absolute.
	// CredentialConfig and CredentialBins are about exec credential providers for images; both or neither.
	CredentialConfig, CredentialBins string
	// IgnoreEviction leaves eviction thresholds out of allocatable.
	IgnoreEviction bool
}

// Sources is where desired pods come from.
type Sources struct {
	StaticPodPath      string // A directory or one manifest; absolute or empty.
	FileCheckFrequency time.Duration
	URL                string // Of static pods; empty is none.
	URLHeaders         map[string][]string
	URLCheckFrequency  time.Duration
}

// Runtime is how to reach the container runtime.
type Runtime struct {
	Endpoint       string // A flag, the file or $CONTAINER_RUNTIME_ENDPOINT; empty is for FindRuntime to look.
	EndpointFrom   string // What named Endpoint, for messages: a flag, a file or the variable.
	ImageEndpoint  string // Empty is the same as the runtime's.
	RequestTimeout time.Duration
}

// Cgroups is about the tree that pods run in.
type Cgroups struct {
	Root           string // Empty is the hierarchy's root.
	Driver         string // "cgroupfs" or "systemd".
	PerQOS         bool
	CPUQuota       bool // Enforce CPU limits.
	CPUQuotaPeriod time.Duration
	PodPidsLimit   int64 // -1 is the node's limit.
}

// Pods is about running pods.
type Pods struct {
	Max               int32
	LogsDir           string        // Absolute.
	SeccompDefault    bool          // RuntimeDefault where a container names no profile.
	MaxRestartBackoff time.Duration // Upper end of CrashLoopBackOff.
}

// Images is about pulls and image GC.
type Images struct {
	SerializePulls   bool
	MaxParallelPulls int32 // 0 is no limit; 1 with SerializePulls.
	PullQPS          int32 // 0 is no limit.
	PullBurst        int32
	GCHighPercent    int32
	GCLowPercent     int32
	GCMinimumAge     time.Duration
	GCMaximumAge     time.Duration // 0 is off.
}

// Containers is about the GC of dead containers.
type Containers struct {
	MinimumAge      time.Duration
	MaxPerContainer int32 // Negative is no limit.
	MaxTotal        int32 // Negative is no limit.
}

// DNS is what pods resolve names with.
type DNS struct {
	ClusterDNS    []string // IP addresses.
	ClusterDomain string
	ResolvConf    string // A file; empty is none.
}

// Server is the configuration of the agent's servers. A port of 0 is disabled.
type Server struct {
	Enabled        bool // Of the read-only and HTTPS servers; health has its own port.
	Address        string
	ReadOnlyPort   int32
	HealthzAddress string
	HealthzPort    int32
}
