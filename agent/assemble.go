package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/allocatable"
	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/image/pulled"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/pressure"
	"github.com/kubeloupe/kubeloupe/agent/probe"
	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/agent/runtimestate"
	"github.com/kubeloupe/kubeloupe/agent/server"
	"github.com/kubeloupe/kubeloupe/agent/slots"
	"github.com/kubeloupe/kubeloupe/agent/usage"
	"github.com/kubeloupe/kubeloupe/agent/userns"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/subpath"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// syncLoopLimit is how long an iteration may take before /healthz/syncloop fails.
// Upstream: pkg/kubelet/server/server.go, syncLoopHealthCheck (twice the sync frequency, at least 2 min).
const syncLoopLimit = 2 * time.Minute

// parts is the assembled agent.
type parts struct {
	cfg     Config
	store   *pods.Store
	files   *guestfile.Files // what containers can write
	syncer  *pods.Syncer
	pleg    *pleg.PLEG
	state   *runtimestate.State
	cgroups *cgroup.Manager
	workers *worker.Manager
	// due are the pods whose time has come; tidy asks for housekeeping.
	due      chan types.UID
	tidy     chan struct{}
	mux      *podsource.Mux
	server   *server.Server
	manager  *pods.Manager
	cluster  *cluster
	volumes  *volume.Manager
	prober   *probe.Prober
	userns   *userns.Ranges
	resizes  *resize.Manager
	slots    *slots.Slots // of the container runtime
	shortage *pressure.Shortage
	usage    *usage.Sampler // nil without a bus
	// subpaths is nil on the simulated runtime, which mounts nothing.
	subpaths *subpath.Maker
	// pulled are the records of who pulled which image; nil where none are kept.
	pulled *pulled.Store
	// hostIPs are the node\'s addresses, the primary one first.
	hostIPs []string
	// addressed is called when the node's addresses may have changed; nil for nobody.
	addressed func()
	// images and info answer questions; see query.go.
	images    runtimeapi.ImageServiceClient
	info      *runtimeapi.VersionResponse
	collector *gc.Collector
	// born is when this agent began.
	born time.Time
	// machine is what there is, resources what of it is for pods.
	machine   allocatable.Machine
	resources allocatable.Resources
	all       []part
}

// part is something that runs for the agent's life.
type part struct {
	name string
	run  func(context.Context) error
}

func (p *parts) add(name string, run func(context.Context) error) {
	p.all = append(p.all, part{name: name, run: run})
}

// assemble builds all parts and connects them. Nothing runs yet. clients are nil on a node that stands alone.
func assemble(ctx context.Context, cfg Config, client *cri.Client, id *identity) (*parts, error) {
	p, bus := &parts{cfg: cfg, store: pods.NewStore(), files: guestfile.New(guestfile.Config{}), born: time.Now(), hostIPs: hostIPs(cfg.Kubelet.Node.IPs), images: client.Image, info: client.Info}, cfg.Bus
	var err error
	if err := p.readMachine(); err != nil {
		return nil, err
	}
	if p.cgroups, err = newCgroups(ctx, cfg, client, p.limits()); err != nil {
		return nil, err
	}
	if p.pleg, err = pleg.New(pleg.Config{Runtime: client.Runtime, Bus: bus}); err != nil {
		return nil, err
	}
	if p.state, err = runtimestate.New(client.Runtime, bus); err != nil {
		return nil, err
	}
	p.state.Check(ctx) // what it can do is part of what is asked of it
	p.newShortage()
	if bus != nil {
		p.usage = usage.New(usage.Config{Bus: bus})
		p.add("usage", p.usage.Run)
		p.add("clock", clock.New(bus).Run)
	}
	if p.slots, err = slots.New(slots.Config{Name: "container runtime", Size: runtimeSlots(cfg.RuntimeSlots), Bus: bus, Modest: podruntime.ClassAgain}); err != nil {
		return nil, err
	}
	if err := p.newCluster(id.clients); err != nil {
		return nil, err
	}
	rt, err := p.newRuntime(ctx, client)
	if err != nil {
		return nil, err
	}
	if err := p.newWorkers(ctx, rt, client.Info.GetRuntimeName()); err != nil {
		return nil, err
	}
	if p.mux, err = p.newMux(); err != nil {
		return nil, err
	}
	if p.cluster.alone() {
		p.describeAlone()
	} else if err := p.newNode(client); err != nil {
		return nil, err
	}
	if p.collector, err = gc.New(p.gcConfig(client)); err != nil {
		return nil, err
	}
	syncLoop, err := p.newLoop()
	if err != nil {
		return nil, err
	}
	if err := p.newServer(syncLoop, client); err != nil {
		return nil, err
	}
	if id.certs != nil {
		p.add("client certificate", id.rotate)
	}
	p.add("PLEG", p.pleg.Run)
	p.add("runtime state", p.state.Run)
	p.add("volumes", p.volumes.Run)
	p.add("probes", p.prober.Run)
	p.add("pod workers", p.workers.Run)
	p.add("pod sources", p.mux.Run)
	p.add("syncLoop", syncLoop.Run)
	p.add("orphans", p.manager.Run)
	p.add("garbage collection", p.collector.Run)
	p.add("server", p.server.Run)
	if err := p.addRotation(client); err != nil {
		return nil, err
	}
	return p, p.addPressure(client, p.collector)
}

// prepare does what must be done before anything runs: what fails here fails the start.
func (p *parts) prepare(ctx context.Context) error {
	k := p.cfg.Kubelet
	raiseOpenFiles(p.cfg.Bus, k.Node.MaxOpenFiles, k.Node.MaxOpenFilesSet)
	if err := p.server.Listen(ctx); err != nil {
		return err
	}
	root := func(name string) string { return filepath.Join(k.Node.RootDir, name) }
	for _, dir := range []string{root("pods"), root("plugins"), root("plugins_registry"), k.Pods.LogsDir, p.logLinks()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	if err := p.cgroups.EnsureTiers(ctx); err != nil {
		return err
	}
	err := p.pleg.Relist(ctx, "start")
	if _, some := errors.AsType[*pleg.UnseenError](err); some {
		return nil // its record tells; their workers ask about those pods before they do anything
	}
	if err != nil {
		return fmt.Errorf("first look at what runs: %w", err)
	}
	return nil
}

// newCgroups returns nil where no cgroups are made: the simulated runtime needs none.
func newCgroups(ctx context.Context, cfg Config, client *cri.Client, node cgroup.Limits) (*cgroup.Manager, error) {
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
		Root: k.Root, Driver: driver, Bus: cfg.Bus, PodPidsLimit: k.PodPidsLimit, CFSQuota: k.CPUQuota, CFSPeriod: k.CPUQuotaPeriod, Node: node,
		HugePageSizes: cgroup.HugePageSizes("/sys"),
	})
	if _, none := errors.AsType[*cgroup.UnavailableError](err); none {
		return nil, fmt.Errorf("%w\n  remedy: run as root, or use --runtime sim", err)
	}
	return m, err
}
