package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/image/containerdprogress"
	"github.com/kubeloupe/kubeloupe/agent/loop"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/runtimestate"
	"github.com/kubeloupe/kubeloupe/agent/server"
	"github.com/kubeloupe/kubeloupe/agent/slots"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// syncLoopLimit is how long an iteration may take before /healthz/syncloop fails.
// Upstream: pkg/kubelet/server/server.go, syncLoopHealthCheck (twice the sync frequency, at least 2 min).
const syncLoopLimit = 2 * time.Minute

// parts is the assembled agent.
type parts struct {
	cfg     Config
	store   *pods.Store
	syncer  *pods.Syncer
	pleg    *pleg.PLEG
	state   *runtimestate.State
	cgroups *cgroup.Manager
	workers *worker.Manager
	mux     *podsource.Mux
	server  *server.Server
	manager *pods.Manager
	all     []part
}

// part is something that runs for the agent's life.
type part struct {
	name string
	run  func(context.Context) error
}

func (p *parts) add(name string, run func(context.Context) error) {
	p.all = append(p.all, part{name: name, run: run})
}

// assemble builds all parts and connects them. Nothing runs yet.
func assemble(ctx context.Context, cfg Config, client *cri.Client) (*parts, error) {
	k, bus := cfg.Kubelet, cfg.Bus
	p := &parts{cfg: cfg, store: pods.NewStore()}
	var err error
	if p.cgroups, err = newCgroups(ctx, cfg, client); err != nil {
		return nil, err
	}
	if p.pleg, err = pleg.New(pleg.Config{Runtime: client.Runtime, Bus: bus}); err != nil {
		return nil, err
	}
	if p.state, err = runtimestate.New(client.Runtime, bus); err != nil {
		return nil, err
	}
	p.state.Check(ctx) // what it can do is part of what is asked of it
	images, err := newImages(cfg, client)
	if err != nil {
		return nil, err
	}
	volumes, err := newVolumes(cfg, p.criNode(), hostIPs(k.Node.IPs))
	if err != nil {
		return nil, err
	}
	rt, err := newPodRuntime(cfg, client, p, images, volumes)
	if err != nil {
		return nil, err
	}
	p.syncer, err = pods.NewSyncer(pods.SyncerConfig{
		Runtime: rt, Network: p.state, Store: p.store, Bus: bus, Status: p.statusFunc(client.Info.GetRuntimeName()),
	})
	if err != nil {
		return nil, err
	}
	due, tidy := make(chan types.UID, 1024), make(chan struct{}, 1)
	p.workers, err = worker.New(worker.Config{Syncer: p.syncer, Bus: bus, Due: func(uid types.UID) {
		select {
		case due <- uid:
		case <-ctx.Done():
		}
	}})
	if err != nil {
		return nil, err
	}
	p.manager, err = pods.New(pods.Config{
		Workers: p.workers, Seen: p.pleg.Cache(), Store: p.store, MaxPods: int(k.Pods.Max), Bus: bus,
		Orphans: p.orphans(volumes),
		Tidy: func() {
			select {
			case tidy <- struct{}{}:
			default: // it is asked for already
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if p.mux, err = p.newMux(); err != nil {
		return nil, err
	}
	syncLoop, err := loop.New(loop.Config{
		Handler: p.manager, Ready: p.state, Updates: p.mux.Updates(), Lifecycle: p.pleg.Events(), Due: due, Tidy: tidy, Bus: bus,
	})
	if err != nil {
		return nil, err
	}
	collector, err := gc.New(p.gcConfig(client))
	if err != nil {
		return nil, err
	}
	if p.server, err = p.newServer(syncLoop); err != nil {
		return nil, err
	}
	p.add("PLEG", p.pleg.Run)
	p.add("runtime state", p.state.Run)
	p.add("volumes", volumes.Run)
	p.add("pod workers", p.workers.Run)
	p.add("pod sources", p.mux.Run)
	p.add("syncLoop", syncLoop.Run)
	p.add("garbage collection", collector.Run)
	p.add("server", p.server.Run)
	return p, p.addPressure(client, collector)
}

// prepare does what must be done before anything runs: what fails here fails the start.
func (p *parts) prepare(ctx context.Context) error {
	k := p.cfg.Kubelet
	raiseOpenFiles(p.cfg.Bus, k.Node.MaxOpenFiles, k.Node.MaxOpenFilesSet)
	if err := p.server.Listen(ctx); err != nil {
		return err
	}
	for _, dir := range []string{filepath.Join(k.Node.RootDir, "pods"), k.Pods.LogsDir, p.logLinks()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	if err := p.cgroups.EnsureTiers(ctx); err != nil {
		return err
	}
	if err := p.pleg.Relist(ctx, "start"); err != nil {
		return fmt.Errorf("first look at what runs: %w", err)
	}
	return nil
}

func newPodRuntime(cfg Config, client *cri.Client, p *parts, images *image.Puller, volumes *volume.Manager) (*podruntime.Runtime, error) {
	k := cfg.Kubelet
	work, err := slots.New("container runtime", runtimeSlots(cfg.RuntimeSlots), cfg.Bus)
	if err != nil {
		return nil, err
	}
	node := p.criNode()
	return podruntime.New(podruntime.Config{
		Sandboxes: client.Runtime, Containers: client.Runtime, Images: images, Volumes: volumes, Cgroups: podCgroups{p},
		Observer: observer{p.pleg}, Gate: cfg.Gate, Slots: work,
		Backoff: podruntime.NewCrashBackoff(k.Pods.MaxRestartBackoff),
		Node:    node, DNS: p.dns, HostIPs: hostIPs(k.Node.IPs),
		RootDir: k.Node.RootDir, LogLinks: p.logLinks(), Bus: cfg.Bus,
	})
}

// runtimeSlots is how many pods the runtime works for at once: one and a half per CPU, measured on
// two, where three at a time give the best median and the best end of a burst of 30. See
// agent/slots and test/bench.
func runtimeSlots(configured int) int {
	if configured > 0 {
		return configured
	}
	return max(2, 3*runtime.NumCPU()/2)
}

func newImages(cfg Config, client *cri.Client) (*image.Puller, error) {
	k := cfg.Kubelet.Images
	c := image.Config{
		Service: client.Image, Bus: cfg.Bus, Serialize: k.SerializePulls, MaxParallel: int(k.MaxParallelPulls),
		QPS: float64(k.PullQPS), Burst: int(k.PullBurst),
		Keyring: image.NewFileKeyring(cfg.Kubelet.Node.RootDir, cfg.Bus),
	}
	if !cfg.Simulated && client.Info.GetRuntimeName() == "containerd" {
		c.Progress = containerdprogress.New(client.Conn).Follow
	}
	return image.New(c)
}

// newCgroups returns nil where no cgroups are made: the simulated runtime needs none.
func newCgroups(ctx context.Context, cfg Config, client *cri.Client) (*cgroup.Manager, error) {
	k := cfg.Kubelet.Cgroups
	if cfg.Simulated || !k.PerQOS {
		return nil, nil
	}
	driver := cgroup.Driver(k.Driver)
	if r, err := client.Runtime.RuntimeConfig(ctx, &runtimeapi.RuntimeConfigRequest{}); err == nil && r.GetLinux() != nil {
		driver = cgroup.Cgroupfs
		if r.GetLinux().GetCgroupDriver() == runtimeapi.CgroupDriver_SYSTEMD {
			driver = cgroup.Systemd
		}
	}
	m, err := cgroup.New(cgroup.Config{
		Root: k.Root, Driver: driver, Bus: cfg.Bus, PodPidsLimit: k.PodPidsLimit, CFSQuota: k.CPUQuota, CFSPeriod: k.CPUQuotaPeriod,
		HugePageSizes: cgroup.HugePageSizes("/sys"),
	})
	if _, none := errors.AsType[*cgroup.UnavailableError](err); none {
		return nil, fmt.Errorf("%w\n  remedy: run as root, or use --runtime sim", err)
	}
	return m, err
}

func (p *parts) newMux() (*podsource.Mux, error) {
	k := p.cfg.Kubelet
	sources := append([]podsource.Source(nil), p.cfg.Sources...)
	if k.Sources.StaticPodPath != "" {
		file, err := podsource.NewFile(podsource.FileConfig{
			Path: k.Sources.StaticPodPath, Node: p.cfg.NodeName, Period: k.Sources.FileCheckFrequency, Bus: p.cfg.Bus,
		})
		if err != nil {
			return nil, err
		}
		sources = append(sources, file)
	}
	return podsource.New(podsource.Config{Sources: sources, Bus: p.cfg.Bus})
}

func (p *parts) newServer(l *loop.Loop) (*server.Server, error) {
	s := p.cfg.Kubelet.Server
	c := server.Config{
		HealthzAddress: s.HealthzAddress, HealthzPort: s.HealthzPort, Address: s.Address, ReadOnlyPort: s.ReadOnlyPort,
		Pods: func() []v1.Pod { return p.store.Pods() }, Metrics: p.cfg.Metrics,
		Checks: []server.Check{{Name: "syncloop", Check: func() error { return l.Healthy(syncLoopLimit) }}},
	}
	if !s.Enabled {
		c.ReadOnlyPort = 0
	}
	return server.New(c)
}
