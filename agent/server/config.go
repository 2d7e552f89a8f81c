package server

import (
	"context"
	"crypto/x509"
	"net/http"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/auth"
	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Check is one health check; nil means healthy.
type Check struct {
	Name  string
	Check func() error
}

// Config is the configuration of the servers. A port of 0 is disabled.
//
// Many fields: one for each thing that is served.
type Config struct {
	HealthzAddress string
	HealthzPort    int32
	Address        string
	ReadOnlyPort   int32
	// Port is the authenticated port. It needs TLS and Auth.
	Port int32
	TLS  TLS
	Auth Auth
	// Pods are the node's pods with their statuses.
	Pods func() []v1.Pod
	// Pod returns the pod with this name, or nil. If there are two, it returns the new one, and not the one that still terminates.
	Pod func(namespace, name string) *v1.Pod
	// Allocated are the pods with their allocated resources, for /allocatedPods; nil disables it.
	Allocated Allocated
	// UID returns the pod's own UID for the UID that the API may use for it, such as that of its mirror pod; nil returns the UID
	// unchanged.
	UID func(types.UID) types.UID
	// Observed is the state of the runtime.
	Observed Observed
	// Runtime runs commands in containers.
	Runtime Runtime
	// Files opens containers' logs; nil means a new one.
	Files *guestfile.Files
	// Stats answers /stats/summary.
	Stats Stats
	// Metrics answers /metrics; nil disables it, here and below.
	Metrics http.Handler
	// ResourceMetrics, ContainerMetrics and ProbeMetrics answer /metrics/resource, cadvisor and probes.
	ResourceMetrics, ContainerMetrics, ProbeMetrics http.Handler
	// Checks are run in addition to ping.
	Checks []Check
	// Configz returns the effective KubeletConfiguration.
	Configz func() any
	// Flags returns the command line's flags with their values.
	Flags func() map[string]string
	// Debug are the enabled parts of the authenticated port.
	Debug Debug
	// WebSockets translates exec and attach in WebSockets of version 5, and port forwards that are tunneled in WebSockets, for the runtime
	// (feature gate ExtendWebSocketsToKubelet). Otherwise they are passed on as they are.
	WebSockets bool
	// Checkpoints is the directory for /checkpoint; "" disables it.
	Checkpoints string
	// LogDir is the directory that /logs/ shows; /var/log if empty.
	LogDir string
	// SplitStreams lets clients read only stdout or only stderr of a container's log (feature gate PodLogsQuerySplitStreams).
	SplitStreams bool
	// Journalctl is the program that reads the journal; journalctl if empty.
	Journalctl string
	// Version is the Kubernetes version that /statusz shows.
	Version string
	Bus     *trace.Bus
}

// Debug are the enable... settings of KubeletConfiguration, and feature gates of debug handlers. All need Handlers.
type Debug struct {
	// Handlers is enableDebuggingHandlers: it also enables containerLogs, exec and others.
	Handlers bool
	// SystemLogs is enableSystemLogHandler, LogQuery enableSystemLogQuery, Profiling enableProfilingHandler, Contention
	// enableContentionProfiling and FlagsV enableDebugFlagsHandler.
	SystemLogs, LogQuery, Profiling, Contention, FlagsV bool
	// Flagz and Statusz are the feature gates ComponentFlagz and ComponentStatusz: /flagz and /statusz.
	Flagz, Statusz bool
}

// Auth authenticates and authorizes clients. *auth.Auth implements it.
type Auth interface {
	Authenticate(*http.Request) (*auth.User, error)
	// Certified reports whether a client with these certificates is known.
	Certified([]*x509.Certificate) bool
	// ClientCAs are the certificates that issue those of clients; nil means that clients need none.
	ClientCAs() *x509.CertPool
	Authorize(ctx context.Context, u *auth.User, verb, subresource string) (allowed bool, reason string, err error)
}

// Allocated has the pods that were admitted and have not terminated, with their allocated resources and without statuses.
// pods.Allocations implements it.
type Allocated interface {
	Pods() []v1.Pod
	// Pod returns nil if there is no pod of that name.
	Pod(namespace, name string) *v1.Pod
}

// Observed is the state of the runtime. *pleg.Cache implements it.
type Observed interface {
	Get(types.UID) *podstate.Pod
	All() map[types.UID]*podstate.Pod
}

// Stats has the resource usage of the node and its pods. *stats.Stats implements it.
type Stats interface {
	Summary(ctx context.Context, onlyCPUAndMemory bool) (*statsapi.Summary, error)
}

// Runtime is the part of the CRI that requests need.
type Runtime interface {
	Exec(context.Context, *runtimeapi.ExecRequest, ...grpc.CallOption) (*runtimeapi.ExecResponse, error)
	Attach(context.Context, *runtimeapi.AttachRequest, ...grpc.CallOption) (*runtimeapi.AttachResponse, error)
	PortForward(context.Context, *runtimeapi.PortForwardRequest, ...grpc.CallOption) (*runtimeapi.PortForwardResponse, error)
	ExecSync(context.Context, *runtimeapi.ExecSyncRequest, ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error)
	ContainerStatus(context.Context, *runtimeapi.ContainerStatusRequest, ...grpc.CallOption) (*runtimeapi.ContainerStatusResponse, error)
	ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error)
	CheckpointContainer(context.Context, *runtimeapi.CheckpointContainerRequest, ...grpc.CallOption) (*runtimeapi.CheckpointContainerResponse, error)
}
