package stats

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/quota"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Runtime is the part of the CRI's runtime service that Stats needs.
type Runtime interface {
	ListPodSandboxStats(context.Context, *runtimeapi.ListPodSandboxStatsRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxStatsResponse, error)
	ListContainerStats(context.Context, *runtimeapi.ListContainerStatsRequest, ...grpc.CallOption) (*runtimeapi.ListContainerStatsResponse, error)
	PodSandboxStatus(context.Context, *runtimeapi.PodSandboxStatusRequest, ...grpc.CallOption) (*runtimeapi.PodSandboxStatusResponse, error)
}

// Images is the part of the CRI's image service that Stats needs.
type Images interface {
	ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest, ...grpc.CallOption) (*runtimeapi.ImageFsInfoResponse, error)
}

// Config is what Stats needs.
type Config struct {
	Node    string
	Runtime Runtime
	Images  Images
	Pods    func() []v1.Pod
	// Observed returns the runtime's state of a pod.
	Observed func(types.UID) *podstate.Pod
	// RootDir is the agent's root directory; its file system is nodefs.
	RootDir string
	// Volumes returns the volumes of a pod that are set up, by their names in the pod.
	Volumes func(*v1.Pod) map[string]Volume
	// VolumePeriod is how long the answer of a volume's driver is valid. If it is not positive, drivers are not asked.
	VolumePeriod time.Duration
	// Quota returns what the file system itself counts in a volume's directory; false means that it does not, and the directory is walked.
	// It may block as long as the file system does. May be nil.
	Quota func(pod *v1.Pod, v *v1.Volume, dir string) (quota.Usage, bool)
	// PodCgroup returns a pod's cgroup, such as /kubepods/burstable/pod<uid>; nil means unknown.
	PodCgroup func(*v1.Pod) string
	// Tiers are the cgroups of all pods together, which comes first, and of their quality of service classes; none means
	// that the agent creates no cgroups.
	Tiers []string
	// RuntimeCgroup is the container runtime's own, such as /system.slice/containerd.service; "" means unknown.
	RuntimeCgroup string
	// KubeletCgroup is the agent's own, SystemCgroup that of the system's processes, as configured; "" means none.
	KubeletCgroup, SystemCgroup string
	// Machine is what the metrics of the machine have.
	Machine Machine
	// Bus may be nil.
	Bus *trace.Bus
	// Proc and Cgroup are /proc and /sys/fs/cgroup; "" means these.
	Proc, Cgroup string
}

// Machine describes the machine: its CPUs, also those that this process may not use, its physical CPU cores and sockets, and the labels of its
// metrics, alternately names and values.
type Machine struct {
	CPUs, Cores, Sockets int
	Labels               []string
}

// summaryLimit is the timeout of a summary.
const summaryLimit = 30 * time.Second

// Stats returns resource usage. Safe for concurrent use.
type Stats struct {
	cfg   Config
	tree  tree
	began time.Time
	rates *rates
	usage *usage
	// places are the results for volumes' file systems.
	places    probes[place]
	answers   answers
	collected collected
	// mounts are the results for the node's file systems.
	mounts      probes[*statsapi.FsStats]
	images      images
	full, brief flight[*statsapi.Summary]
	// failing says that the last statistics of pods are those of their containers only, because the runtime failed.
	failing atomic.Bool

	boot sync.Once
	up   time.Time
}

// New checks the configuration and takes the first samples of the CPU time of the node, the agent, the runtime and all pods.
func New(cfg Config) (*Stats, error) {
	if cfg.Runtime == nil || cfg.Images == nil || cfg.Pods == nil || cfg.Observed == nil || cfg.Volumes == nil || cfg.RootDir == "" {
		return nil, errors.New("stats: Config.Runtime, Images, Pods, Observed, Volumes or RootDir is missing")
	}
	if cfg.Proc == "" {
		cfg.Proc = "/proc"
	}
	if cfg.Cgroup == "" {
		cfg.Cgroup = "/sys/fs/cgroup"
	}
	s := &Stats{cfg: cfg, tree: newTree(cfg.Cgroup), began: time.Now(), rates: newRates(), usage: newUsage(), images: images{known: map[string]string{}}, answers: answers{period: cfg.VolumePeriod}}
	s.usage.collected = &s.collected
	s.full.limit, s.brief.limit = summaryLimit, summaryLimit
	s.nodeCPU(s.began)
	s.systemContainers(true, s.began)
	return s, nil
}

// Summary returns the current usage. With onlyCPUAndMemory no file system is read. Simultaneous callers get the same result, which
// they must not change.
//
// Upstream: pkg/kubelet/server/stats/summary.go, Get and GetCPUAndMemoryStats.
func (s *Stats) Summary(ctx context.Context, onlyCPUAndMemory bool) (*statsapi.Summary, error) {
	f := &s.full
	if onlyCPUAndMemory {
		f = &s.brief
	}
	return f.do(ctx, func(ctx context.Context) (*statsapi.Summary, error) { return s.summary(ctx, onlyCPUAndMemory) })
}

func (s *Stats) summary(ctx context.Context, onlyCPUAndMemory bool) (*statsapi.Summary, error) {
	now := time.Now()
	out := &statsapi.Summary{Node: statsapi.NodeStats{
		NodeName: s.cfg.Node, StartTime: metav1.NewTime(s.booted()),
		CPU: s.nodeCPU(now), Memory: s.nodeMemory(now), Swap: s.nodeSwap(now), SystemContainers: s.systemContainers(onlyCPUAndMemory, now),
	}}
	var images *statsapi.FsStats
	if !onlyCPUAndMemory {
		out.Node.Network, out.Node.IO = s.nodeNetwork(now), s.ioPressure(top, now)
		out.Node.Rlimit = s.rlimit(now)
		out.Node.Fs = s.fsOf(s.cfg.RootDir, now)
		out.Node.Runtime = s.runtimeFS(ctx, now)
		images = out.Node.Runtime.ImageFs
	}
	pods, err := s.pods(ctx, images, onlyCPUAndMemory, nil, now)
	out.Pods = pods
	return out, err
}
