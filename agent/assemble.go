package agent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/allocatable"
	"github.com/kubeloupe/kubeloupe/agent/auth"
	"github.com/kubeloupe/kubeloupe/agent/certs"
	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/eviction"
	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/host"
	"github.com/kubeloupe/kubeloupe/agent/image/pulled"
	"github.com/kubeloupe/kubeloupe/agent/loop"
	"github.com/kubeloupe/kubeloupe/agent/node"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/agent/podcidr"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podsapi"
	"github.com/kubeloupe/kubeloupe/agent/quota"
	"github.com/kubeloupe/kubeloupe/agent/runtimestate"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/agent/server"
	"github.com/kubeloupe/kubeloupe/agent/shutdown"
	"github.com/kubeloupe/kubeloupe/agent/stats"
	"github.com/kubeloupe/kubeloupe/agent/userns"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/subpath"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/usage"
)

// parts is the assembled agent. Each part is created after those that it needs; assemble has the order.
type parts struct {
	cfg     Config
	client  *cri.Client
	host    machine
	self    *node.Self       // this node in the API; empty for a standalone agent
	files   *guestfile.Files // files that containers can write
	pleg    *pleg.PLEG
	state   *runtimestate.State
	cgroups *cgroup.Manager  // nil if no cgroups are created
	slots   *semaphore.Slots // for the container runtime
	cluster *cluster
	volumes *volume.Manager
	// subpaths and userns are nil with the simulated runtime, which mounts nothing.
	subpaths *subpath.Maker
	userns   *userns.Ranges
	// pulled are the records of pulled images; nil if none are kept.
	pulled    *pulled.Store
	pods      podParts
	usage     *usage.Sampler // nil without a bus
	collector *gc.Collector
	port      authenticatedPort
	server    *server.Server

	all []part
}

// machine is the machine that the agent runs on.
type machine struct {
	podCIDR     *podcidr.Sender       // the addresses that it has for pods
	machine     allocatable.Machine   // its resources
	arrangement numa.Machine          // its NUMA nodes
	resources   allocatable.Resources // the part for pods
	addresses   *addresses            // its addresses
	stats       *stats.Stats          // its usage
	eviction    *eviction.Manager     // its resource pressure
	managers    *managers             // which containers have CPUs and memory of it for themselves
	quotas      *quota.Projects       // of its file systems; nil if they are not used
	shutdown    *shutdown.Manager     // its graceful shutdown; nil if there is none
	declared    []string              // the features that the node declares; like upstream's, they are those of the start
	features    *admission.Features   // the same, for admission
}

// authenticatedPort is what only the authenticated port has; both are nil if it is disabled.
type authenticatedPort struct {
	serving *certs.Serving
	clients *auth.Auth
}

// part is a component that runs as long as the agent.
type part struct {
	name string
	run  func(context.Context) error
}

func (p *parts) add(name string, run func(context.Context) error) {
	p.all = append(p.all, part{name: name, run: run})
}

// assemble builds all parts and connects them. Nothing runs yet. The identity's clients are nil on a standalone node.
//
// Each part is built after those that it uses. Where two parts notify each other, what they share is built before both: worker.Registry
// (the workers of pods), node.Self (the Node object), volume.Notices, mirror.Known and loop.Requests (to the syncLoop).
func assemble(ctx context.Context, cfg Config, client *cri.Client, id *identity) (*parts, error) {
	p := &parts{
		cfg: cfg, client: client, self: node.NewSelf(), files: guestfile.New(guestfile.Config{}),
		host: machine{addresses: &addresses{own: node.HostIPs(cfg.Kubelet.Node.IPs)}},
		pods: podParts{notices: volume.NewNotices(), watchers: podsapi.NewWatchers(), registry: worker.NewRegistry(), seen: &atomic.Pointer[v1.Node]{}, plugins: map[string]pluginwatch.Handler{}},
	}
	p.pods.store = pods.NewStore(p.pods.watchers.Changed)
	p.host.managers = &managers{p: p}
	if err := p.newFoundation(ctx); err != nil {
		return nil, err
	}
	p.host.addresses.told = p.hostIPs()
	if err := p.newDevices(); err != nil {
		return nil, err
	}
	if err := p.newManagers(); err != nil {
		return nil, err
	}
	if err := p.newCluster(id.clients); err != nil {
		return nil, err
	}
	if err := p.newClaims(); err != nil {
		return nil, err
	}
	rt, err := p.newRuntime(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.watchPlugins(); err != nil {
		return nil, err
	}
	asked := loop.NewRequests()
	if err := p.newWorkers(ctx, rt, asked); err != nil {
		return nil, err
	}
	mux, err := p.newMux()
	if err != nil {
		return nil, err
	}
	if err := p.describe(); err != nil {
		return nil, err
	}
	if p.collector, err = gc.New(p.gcConfig()); err != nil {
		return nil, err
	}
	syncLoop, err := p.newLoop(mux, asked)
	if err != nil {
		return nil, err
	}
	if err := p.newServer(syncLoop); err != nil {
		return nil, err
	}
	if id.certs != nil {
		p.add("client certificate", id.rotate)
	}
	p.add("PLEG", p.pleg.Run)
	p.add("runtime state", p.state.Run)
	p.add("volumes", p.volumes.Run)
	p.add("probes", p.pods.prober.Run)
	p.add("pod workers", p.pods.workers.Run)
	p.add("pod sources", mux.Run)
	p.add("syncLoop", syncLoop.Run)
	p.add("orphans", p.pods.manager.Run)
	p.add("CPUs", p.host.managers.cpus.Run)
	p.add("allocated resources", p.pods.resizes.Run)
	p.add("garbage collection", p.collector.Run)
	p.add("server", p.server.Run)
	if err := p.addLocal(); err != nil {
		return nil, err
	}
	if err := p.addOOM(); err != nil {
		return nil, err
	}
	if err := p.newShutdown(); err != nil {
		return nil, err
	}
	if err := p.addRotation(); err != nil {
		return nil, err
	}
	if err := p.addWatchdog(syncLoop); err != nil {
		return nil, err
	}
	return p, p.newEviction()
}

// newFoundation creates the parts that need only the machine and the runtime.
func (p *parts) newFoundation(ctx context.Context) (err error) {
	bus := p.cfg.Bus
	if err := p.readMachine(); err != nil {
		return err
	}
	if p.host.arrangement, err = p.readArrangement(); err != nil {
		return err
	}
	if err := p.newCgroups(ctx); err != nil {
		return err
	}
	if p.pleg, err = pleg.New(pleg.Config{Runtime: p.client.Runtime, Bus: bus}); err != nil {
		return err
	}
	if p.state, err = runtimestate.New(p.client.Runtime, bus); err != nil {
		return err
	}
	p.state.Check(ctx) // the runtime's features are part of later requests
	p.host.declared = node.DeclaredFeatures(p.cfg.Kubelet.Gates, p.state.Features())
	p.host.features = admission.NewFeatures(p.host.declared, node.Release())
	if bus != nil {
		p.usage = usage.New(usage.Config{Bus: bus, Starting: p.pods.store.Starting})
		p.add("usage", p.usage.Run)
		p.add("clock", clock.New(bus).Run)
	}
	size, adapt := podruntime.Slots(p.cfg.RuntimeSlots)
	p.slots, err = semaphore.New(semaphore.Config{
		Name: "container runtime", Target: trace.TargetRuntimeSlots, Size: size, Adapt: adapt, Bus: bus, Modest: podruntime.ClassAgain, Wide: podruntime.ClassEnd,
	})
	return err
}

// describe creates the node's object in the API or, for a standalone agent, publishes the node's description.
func (p *parts) describe() error {
	if p.cluster.alone() {
		p.describeStandalone()
		return nil
	}
	if err := p.newServing(); err != nil { // it gets the addresses from the object
		return err
	}
	return p.newNode()
}

// prepare does what must be done before anything runs: an error here fails the start.
func (p *parts) prepare(ctx context.Context) error {
	k := p.cfg.Kubelet
	host.RaiseOpenFiles(p.cfg.Bus, k.Node.MaxOpenFiles, k.Node.MaxOpenFilesSet)
	if err := p.server.Listen(ctx); err != nil {
		return err
	}
	if err := p.directories(); err != nil {
		return err
	}
	if err := p.pods.devices.Restore(ctx); err != nil {
		return err
	}
	p.labelPlugins(ctx)
	if err := p.ensureCgroups(ctx); err != nil {
		return err
	}
	err := p.pleg.Relist(ctx, "start")
	if _, some := errors.AsType[*pleg.UnseenError](err); some {
		return nil // the relist publishes it; the pods' workers ask about those pods before they do anything
	}
	if err != nil {
		return fmt.Errorf("first relist of the runtime: %w", err)
	}
	return nil
}
