package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/eviction"
	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/agent/node"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/stats"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// newEviction creates the eviction manager. With the simulated runtime it only measures: to end simulated pods would free nothing.
func (p *parts) newEviction() error {
	kc := p.cfg.Kubelet.Kubelet
	thresholds, err := eviction.Parse(p.evictionSettings())
	if err != nil {
		return err
	}
	e := &evictable{p: p, seen: p.pleg.Cache().Get, disks: diskFinder{stats: p.host.stats, root: p.cfg.Kubelet.Node.RootDir}}
	stalls := eviction.NewStalls(p.cfg.Bus, p.stallFiles()...)
	p.add("stalls", stalls.Run)
	p.host.eviction, err = eviction.New(eviction.Config{
		Thresholds: thresholds, Transition: kc.EvictionPressureTransitionPeriod.Duration, MaxGrace: int64(kc.EvictionMaxPodGracePeriod),
		Isolation: p.isolatesStorage(), Observe: p.cfg.Simulated,
		Measure: e.measure, Usage: p.host.stats.Pods, Pods: e, Reclaimer: reclaimer{p},
		Marks:   map[trace.Signal][]trace.Threshold{trace.SignalImageFS: {p.imagePolicy().Threshold()}},
		Stalled: stalls.C(), Watcher: p.newWatcher(), Counted: p.counted, Changed: func() { p.self.Changed(); p.nodeChanged() }, Warn: p.warnNode, Bus: p.cfg.Bus,
	})
	if err != nil {
		return err
	}
	p.add("eviction", p.host.eviction.Run)
	return nil
}

// evictionSettings returns the thresholds that are configured. With --experimental-allocatable-ignore-eviction, pods may use what hard eviction
// keeps free: then their memory has no threshold as a whole.
//
// Upstream: pkg/kubelet/kubelet.go, NewMainKubelet.
func (p *parts) evictionSettings() eviction.Settings {
	kc := p.cfg.Kubelet.Kubelet
	return eviction.Settings{
		Hard: kc.EvictionHard, Soft: kc.EvictionSoft, SoftGrace: kc.EvictionSoftGracePeriod, MinimumReclaim: kc.EvictionMinimumReclaim,
		Allocatable: p.enforcesPods() && p.cgroups != nil && !p.cfg.Kubelet.API.IgnoreEviction,
	}
}

// stallFiles returns the kernel's files about stalls for memory: of the node and, with cgroup v2, of all pods.
func (p *parts) stallFiles() []string {
	out := []string{"/proc/pressure/memory"}
	if p.cgroups != nil && p.cgroups.V2() {
		out = append(out, filepath.Join("/sys/fs/cgroup", p.host.stats.PodsCgroup(), "memory.pressure"))
	}
	return out
}

// newWatcher adds notifications that memory crossed a threshold. Only cgroup v1 has them.
func (p *parts) newWatcher() eviction.Watcher {
	const root = "/sys/fs/cgroup/memory"
	if _, err := os.Stat(filepath.Join(root, "cgroup.event_control")); err != nil || !p.cfg.Kubelet.Kubelet.KernelMemcgNotification || p.cfg.Simulated {
		return nil
	}
	dirs := map[trace.Signal]string{trace.SignalMemory: root}
	if pods := p.host.stats.PodsCgroup(); pods != "" {
		dirs[trace.SignalAllocatable] = filepath.Join(root, pods)
	}
	c := eviction.NewCrossings(p.cfg.Bus, dirs)
	p.add("memory thresholds", c.Run)
	return c
}

// under reports whether a pressure condition of the node is true. Pods may be admitted before the eviction manager exists.
func (p *parts) under(c v1.NodeConditionType) bool {
	return p.host.eviction != nil && p.host.eviction.Under(c)
}

// evicting reports whether the resources of an evicted pod are not free yet.
func (p *parts) evicting() bool { return p.host.eviction != nil && p.host.eviction.Evicting() }

// pressure returns the resource pressure, for the node's conditions.
func (p *parts) pressure() node.Pressure {
	return node.Pressure{Memory: p.under(v1.NodeMemoryPressure), Disk: p.under(v1.NodeDiskPressure), PID: p.under(v1.NodePIDPressure)}
}

// warnNode sends a Warning Event about the node.
func (p *parts) warnNode(ctx context.Context, reason, message string) {
	p.cluster.events.Node(ctx, v1.EventTypeWarning, reason, message)
}

// evictable is the node and its pods, as the eviction manager needs them.
type evictable struct {
	p     *parts
	seen  func(types.UID) *podstate.Pod
	disks diskFinder
}

// Active implements eviction.Pods.
func (e *evictable) Active(grace func(*v1.Pod) int64) []*v1.Pod {
	return slices.DeleteFunc(e.p.pods.registry.Endable(grace), func(pod *v1.Pod) bool {
		return e.p.pods.registry.State(pod.UID) != worker.Syncing && !runs(e.seen(pod.UID))
	})
}

// runs reports whether a container of a pod may run. If none does, a shorter grace period of the pod frees nothing, and the pod may have
// succeeded.
func runs(seen *podstate.Pod) bool {
	return seen != nil && slices.ContainsFunc(seen.Containers, func(c podstate.Container) bool {
		return c.State == podstate.Running || c.State == podstate.Unknown
	})
}

// Evict implements eviction.Pods.
func (e *evictable) Evict(ctx context.Context, pod *v1.Pod, o eviction.Order) {
	e.p.pods.manager.Evict(ctx, pod, o)
}

// Ended implements eviction.Pods.
func (e *evictable) Ended(uid types.UID) bool { return e.p.pods.registry.Cleaned(uid) }

// Empty implements eviction.Pods.
func (e *evictable) Empty(uid types.UID) bool {
	seen := e.seen(uid)
	return seen == nil || len(seen.Sandboxes)+len(seen.Containers) == 0
}

func (e *evictable) measure(ctx context.Context) (eviction.Measured, error) {
	if e.p.cfg.Simulated {
		return e.simulated()
	}
	err := e.disks.find(ctx) // what is not known of the runtime does not hinder the rest
	n := e.p.host.stats.Node(e.disks.at)
	return eviction.Measured{
		Memory: n.Memory, Pods: n.Pods, Processes: n.Processes, Node: n.Root, Images: n.Images, Containers: n.Containers, Layout: e.disks.layout,
	}, err
}

// simulated is this machine with the simulated runtime's disk.
func (e *evictable) simulated() (eviction.Measured, error) {
	n := e.p.host.stats.Node(stats.Disks{})
	out := eviction.Measured{Memory: n.Memory, Processes: n.Processes, Node: n.Root, Layout: eviction.ImageFS}
	fs, err := e.p.fsInfo()("")
	if err == nil {
		out.Images = imagesOn(fs)
	}
	return out, err
}

func imagesOn(fs gc.FS) *statsapi.FsStats {
	return &statsapi.FsStats{AvailableBytes: new(uint64(max(fs.Available, 0))), CapacityBytes: new(uint64(fs.Capacity))}
}

// findLimit is how long a round waits for a runtime that does not answer.
const findLimit = 2 * time.Second

// diskFinder finds the runtime's file systems, once.
type diskFinder struct {
	stats  *stats.Stats
	root   string
	known  bool
	at     stats.Disks
	layout eviction.Layout
}

func (d *diskFinder) find(ctx context.Context) error {
	if d.known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	at, err := d.stats.Disks(ctx)
	if err != nil {
		return err
	}
	d.at, d.known = at, true
	switch images := at.Images != "" && !d.stats.Same(at.Images, d.root); {
	case !images:
		d.layout = eviction.OneFS
	case d.stats.Same(at.Containers, at.Images):
		d.layout = eviction.ImageFS
	default:
		d.layout = eviction.SplitFS
	}
	return nil
}

// reclaimer removes what no pod uses.
type reclaimer struct{ p *parts }

// Containers implements eviction.Reclaimer.
func (r reclaimer) Containers(ctx context.Context) (int, int64, error) {
	s, err := r.p.collector.DeleteEnded(ctx)
	return s.Removed, s.Freed, err
}

// Images implements eviction.Reclaimer.
func (r reclaimer) Images(ctx context.Context) (int, int64, error) {
	s, err := r.p.collector.DeleteUnused(ctx)
	return s.Removed, s.Freed, err
}
