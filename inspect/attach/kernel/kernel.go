package kernel

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/usage"
)

// Config says what to watch. Paths are as this process sees them. Kubelet and Put are required; what is empty is not watched.
type Config struct {
	// Kubelet is the kubelet's process.
	Kubelet int
	// RootDir and CgroupRoot are the kubelet's settings, as it sees them. Files is what its paths begin with as seen from here; "" where it
	// sees the same files.
	RootDir, CgroupRoot, Files string
	// CNI are the directories of CNI plugins. Runtime is the socket of the container runtime that runs them.
	CNI     []string
	Runtime string
	// Credentials is the directory of exec credential providers, which the kubelet runs.
	Credentials string
	// Put takes a record of what was seen. It is called by several goroutines at once.
	Put func(trace.Record)
	// Say takes a sentence about what cannot be watched. It is called by several goroutines at once.
	Say func(text string)
}

// Kernel watches what the kernel shows. Use [New].
type Kernel struct {
	cfg    Config
	usage  *usage.Sampler
	limits *limits
	known  *known
	// seenCgroups says that the cgroups of pods were found.
	seenCgroups atomic.Bool
	// oomSeen is how many processes the kernel had killed for want of memory when that was last read; oomRead that it was.
	oomSeen  int64
	oomRead  bool
	creating map[trace.SpanID]string // of See: the containers that are being made, by the action
	setups   setups                  // of See
}

// New returns an observer of what cfg says.
func New(cfg Config) *Kernel {
	k := &Kernel{cfg: cfg, limits: newLimits(), known: &known{pods: map[string]pod{}}, creating: map[trace.SpanID]string{}, setups: setups{}}
	k.usage = usage.New(usage.Config{PID: cfg.Kubelet, Publish: k.used})
	return k
}

// Follows makes what another one has learned of the pods its own: that watched the kubelet before it restarted. It is for before Run.
func (k *Kernel) Follows(other *Kernel) {
	k.known, k.limits, k.setups = other.known, other.limits, other.setups
}

// Run watches until ctx ends.
func (k *Kernel) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { return k.usage.Run(ctx) })
	g.Go(func() error { return k.networks(ctx) })
	g.Go(func() error { return k.providers(ctx) })
	g.Go(func() error { return k.cgroups(ctx) })
	g.Go(func() error { return k.orphans(ctx) })
	g.Go(func() error { return k.volumes(ctx) })
	return g.Wait()
}

// put passes a record on.
func (k *Kernel) put(r trace.Record) {
	r.Observer = trace.ObserverKernel
	k.cfg.Put(r)
}

// used tells of the kubelet's usage and the node's pressure.
func (k *Kernel) used(u trace.Usage) {
	k.put(trace.Record{Time: time.Now().UnixNano(), Span: trace.NewSpanID(), Event: &u})
}
