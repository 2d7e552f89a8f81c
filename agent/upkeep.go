package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/agent/observe"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/agent/pressure"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// statusFunc makes pod statuses from what the runtime has now.
func (p *parts) statusFunc(runtimeName string) pods.StatusFunc {
	ips, recursive := p.hostIPs, p.criNode().RecursiveReadOnly
	return func(in pods.StatusInput) (v1.PodStatus, trace.PodStatus) {
		pod := p.resizes.Pod(in.Pod)
		seen := p.pleg.Cache().Get(pod.UID)
		if seen != nil && seen.Unseen && in.Previous.Phase != "" && in.Failed == nil {
			return in.Previous, podstatus.Trace(pod, in.Previous, seen) // an outline says less
		}
		why := make(map[string]podstatus.Reason, len(in.Reasons))
		for name, r := range in.Reasons {
			why[name] = podstatus.Reason(r)
		}
		st := podstatus.Generate(pod, seen, podstatus.Inputs{
			Now: time.Now(), Previous: &in.Previous, Failed: in.Failed, Runtime: runtimeName, HostIPs: ips, Reasons: why, LastWords: p.lastWords(in),
			Resize: p.resizes.Conditions(pod.UID), RecursiveReadOnly: recursive,
			Actuated: func(c string) (v1.ResourceRequirements, bool) { return p.resizes.Actuated(pod.UID, c) },
			Terminal: p.workers.State(pod.UID) == worker.Terminated,
			Started:  func(c *v1.Container, id string) bool { return p.prober.Started(pod, c, id) },
			Ready:    func(c *v1.Container, id string) bool { return p.prober.Ready(pod, c, id) },
		})
		return st, podstatus.Trace(pod, st, seen)
	}
}

// lastWords gives termination messages. What the runtime said may quote arguments; what the container said is its own.
func (p *parts) lastWords(in pods.StatusInput) func(*observe.Container) string {
	return func(c *observe.Container) string {
		own := *c
		own.Message = podruntime.Said(p.cfg.secrets, in.Pod, c.Name, c.Message)
		if in.LastWords == nil {
			return own.Message
		}
		return in.LastWords(&own)
	}
}

// gcPods tells garbage collection which pods are gone.
type gcPods struct{ p *parts }

// Complete implements gc.Pods. That the sources have delivered is not enough: a pod that the
// syncLoop has not taken yet would pass for gone, with its dead containers and its logs.
func (g gcPods) Complete() <-chan struct{} { return g.p.manager.Complete() }

// IsDeleted implements gc.Pods.
func (g gcPods) IsDeleted(uid string) bool {
	id := types.UID(uid)
	return !g.p.store.Known(id) && g.p.workers.State(id) == worker.None
}

func (p *parts) gcConfig(client *cri.Client) gc.Config {
	k := p.cfg.Kubelet
	var present func([]string, time.Time)
	if p.pulled != nil {
		present = p.pulled.Prune
	}
	return gc.Config{
		Present: present,
		Runtime: client.Runtime, Images: client.Image, Pods: gcPods{p}, Bus: p.cfg.Bus,
		VolumeImages: func() []string { return p.volumes.Images() },
		PodLogDir:    k.Pods.LogsDir, ContainerLogDir: p.logLinks(),
		ContainerPolicy: gc.ContainerPolicy{
			MinAge: k.Containers.MinimumAge, MaxPerContainer: int(k.Containers.MaxPerContainer), MaxTotal: int(k.Containers.MaxTotal),
		},
		ImagePolicy: p.imagePolicy(), FSInfo: p.fsInfo(client),
	}
}

// simulatedDisk is how large the simulated image file system is, in bytes.
const simulatedDisk = 64 << 30

// fsInfo measures file systems; a simulated runtime's images fill a simulated disk.
func (p *parts) fsInfo(client *cri.Client) func(path string) (gc.FS, error) {
	if !p.cfg.Simulated {
		return nil
	}
	return func(string) (gc.FS, error) {
		r, err := client.Image.ImageFsInfo(context.Background(), &runtimeapi.ImageFsInfoRequest{})
		if err != nil {
			return gc.FS{}, err
		}
		fs := gc.FS{Capacity: simulatedDisk, Available: simulatedDisk}
		for _, u := range r.GetImageFilesystems() {
			fs.Available -= int64(u.GetUsedBytes().GetValue())
		}
		return fs, nil
	}
}

func (p *parts) imagePolicy() gc.ImagePolicy {
	k := p.cfg.Kubelet.Images
	return gc.ImagePolicy{High: int(k.GCHighPercent), Low: int(k.GCLowPercent), MinAge: k.GCMinimumAge, MaxAge: k.GCMaximumAge}
}

// newShortage judges how full the node is.
func (p *parts) newShortage() {
	kc := p.cfg.Kubelet.Kubelet
	p.shortage = pressure.NewShortage(kc.EvictionHard, kc.EvictionPressureTransitionPeriod.Duration, func() {
		if p.cluster.node != nil {
			p.cluster.node.Changed()
		}
	}, p.cfg.Bus)
}

// addPressure watches how full the node is.
func (p *parts) addPressure(client *cri.Client, images *gc.Collector) error {
	imagefs := strings.TrimSuffix(p.imagePolicy().String()+", "+p.shortage.Rule("imagefs"), ", ")
	w, err := pressure.New(pressure.Config{Bus: p.cfg.Bus, Seen: p.shortage.Observe, Signals: []pressure.Signal{
		pressure.Memory("/proc/meminfo", p.shortage.Rule("memory")),
		pressure.Disk("nodefs", p.shortage.Rule("nodefs"), pressure.At(p.cfg.Kubelet.Node.RootDir), nil),
		pressure.Disk("imagefs", imagefs, images.ImageDir, p.fsInfo(client)),
	}})
	if err != nil {
		return err
	}
	p.add("pressure", w.Run)
	return nil
}

// orphans are those that clean up after pods that nobody knows.
func (p *parts) orphans() []pods.Orphans {
	out := []pods.Orphans{cleaner(p.volumes.CleanOrphans), cleaner(p.forgetUnknown)}
	if p.userns != nil {
		out = append(out, p.userns)
	}
	if p.cgroups != nil {
		out = append(out, cleaner(p.orphanCgroups))
	}
	return out
}

// cleaner is a function as pods.Orphans.
type cleaner func(ctx context.Context, known func(types.UID) bool) ([]string, error)

// Clean implements pods.Orphans.
func (c cleaner) Clean(ctx context.Context, known func(types.UID) bool) ([]string, error) {
	return c(ctx, known)
}

// forgetUnknown drops what was learned of a pod when it was gone already, as from a call that had hung.
func (p *parts) forgetUnknown(_ context.Context, known func(types.UID) bool) ([]string, error) {
	p.cfg.secrets.Keep(func(uid string) bool { return known(types.UID(uid)) })
	return nil, nil
}

// orphanCgroups removes pod cgroups of pods that nobody knows, with what runs in them.
//
// Upstream: pkg/kubelet/kubelet_pods.go, cleanupOrphanedPodCgroups.
func (p *parts) orphanCgroups(ctx context.Context, known func(types.UID) bool) (removed []string, err error) {
	all, err := p.cgroups.List(ctx)
	if err != nil {
		return nil, err
	}
	for uid, paths := range all {
		if known(uid) {
			continue
		}
		trace.Point(p.cfg.Bus, trace.FromContext(ctx), trace.Decision{
			By: "orphan", Subject: "cgroup " + paths[0], Verdict: "remove", Reason: "nobody knows its pod",
		})
		if e := p.cgroups.DestroyPod(ctx, uid); e != nil {
			err = errors.Join(err, e)
			continue
		}
		removed = append(removed, fmt.Sprintf("cgroup of pod %s", uid))
	}
	return removed, err
}
