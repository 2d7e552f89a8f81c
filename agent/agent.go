package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/host"
	"github.com/kubeloupe/kubeloupe/agent/nodelock"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config is what an Agent needs.
type Config struct {
	// Kubelet is the effective configuration.
	Kubelet *config.Config
	// Endpoint is the runtime's socket, from config.FindRuntime.
	Endpoint string
	// Simulated says that the runtime at Endpoint is the simulated one: no cgroups are created, and all output is labeled.
	Simulated bool
	// NodeName is the node's name.
	NodeName string
	// Version is kubeloupe's own version.
	Version string
	// Build is what is known about the build of this program, for kubernetes_build_info.
	Build Build
	// Sources are pod sources in addition to the configured ones.
	Sources []podsource.Source
	// Gate, if set, is called before each action of a pod that it holds.
	Gate podruntime.Gate
	// RuntimeSlots is the number of pods for which the runtime works at the same time; 0 adapts it to the machine and the load.
	RuntimeSlots int
	// Metrics answers /metrics on the read-only port; nil disables it.
	Metrics http.Handler
	// ProbeMetrics answers /metrics/probes; nil disables it.
	ProbeMetrics http.Handler
	// Flags returns the command line's flags with their values, without secrets, for /flagz; nil means none.
	Flags func() map[string]string
	// Bus receives all events; nil publishes nothing.
	Bus *trace.Bus

	secrets *redact.Vault // redacted in everything that is published
}

// Agent is a node agent. Create it with New and call Run once.
type Agent struct {
	cfg   Config
	parts atomic.Pointer[parts]
	ready chan struct{}
}

// New checks the configuration. It changes nothing.
func New(cfg Config) (*Agent, error) {
	var errs []error
	for _, field := range []struct {
		name    string
		missing bool
	}{{"Kubelet", cfg.Kubelet == nil}, {"Endpoint", cfg.Endpoint == ""}, {"NodeName", cfg.NodeName == ""}} {
		if field.missing {
			errs = append(errs, errors.New("agent: Config."+field.name+" is missing"))
		}
	}
	if cfg.Kubelet != nil && len(cfg.Sources) == 0 && noSource(cfg.Kubelet) {
		errs = append(errs, errors.New("no pod source: give --kubeconfig, --pod-manifest-path (staticPodPath), a directory of manifests, or --manifest-url (staticPodURL)"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	cfg.secrets = redact.NewVault()
	cfg.secrets.LearnProxies()
	cfg.Bus.Scrub(func(pod trace.Pod) func(string) string { return cfg.secrets.For(pod.UID) })
	return &Agent{cfg: cfg, ready: make(chan struct{})}, nil
}

func noSource(k *config.Config) bool {
	return k.API.Kubeconfig == "" && k.Sources.StaticPodPath == "" && k.Sources.URL == ""
}

// Ready is closed when the syncLoop is about to run.
func (a *Agent) Ready() <-chan struct{} { return a.ready }

// Run runs the agent until ctx ends or a part fails. Pods continue to run.
func (a *Agent) Run(ctx context.Context) error { return a.cfg.secrets.Error(a.run(ctx)) }

func (a *Agent) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also for what outlives the parts, for example a retry that is due now
	k := a.cfg.Kubelet
	locks, err := nodelock.Hold(ctx, k.Node.RootDir, k.Node.LockFile, a.cfg.Bus)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.Release()) }()

	if !a.cfg.Simulated {
		if err := host.Check(k); err != nil {
			return err
		}
		inCluster := k.API.Kubeconfig != "" // a standalone agent may run on any machine: it changes nothing there
		if inCluster || k.Kubelet.ProtectKernelDefaults {
			if err := host.TuneKernel(a.cfg.Bus, "/proc", k.Kubelet.ProtectKernelDefaults); err != nil {
				return err
			}
		}
		if inCluster {
			host.ShareMounts(a.cfg.Bus, k.Node.RootDir)
		}
		host.Protect(a.cfg.Bus, k.Kubelet.OOMScoreAdj)
	}
	a.say(trace.Agent{State: trace.AgentStarting, Endpoint: a.cfg.Endpoint})
	client, err := cri.Dial(ctx, cri.Config{
		Endpoint: a.cfg.Endpoint, ImageEndpoint: k.Runtime.ImageEndpoint, Timeout: k.Runtime.RequestTimeout, Bus: a.cfg.Bus,
		Secrets: a.cfg.secrets, ListStreaming: k.Gates.Enabled("CRIListStreaming"),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()

	id, err := identify(ctx, a.cfg)
	if err != nil {
		return err
	}
	p, err := assemble(ctx, a.cfg, client, id)
	if err != nil {
		return err
	}
	if err := p.prepare(ctx); err != nil {
		p.server.Close()
		return err
	}
	a.parts.Store(p)
	a.say(trace.Agent{State: trace.AgentReady, Endpoint: a.cfg.Endpoint, Runtime: client.Info.GetRuntimeName(), RuntimeVersion: client.Info.GetRuntimeVersion()})
	close(a.ready)
	host.TellSystemd(a.cfg.Bus, daemon.SdNotifyReady)
	defer host.TellSystemd(a.cfg.Bus, daemon.SdNotifyStopping)

	rest := "pods continue to run"
	if a.cfg.Simulated {
		rest = "the simulated runtime and its pods end too"
	}
	reason := rest
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		a.say(trace.Agent{State: trace.AgentStopping}) // before the workers end the waits of pods
		stop()
	})()
	group, ctx := errgroup.WithContext(work)
	if k.Node.ExitOnContention {
		group.Go(func() error {
			contended, err := locks.Contended(ctx)
			if contended {
				reason = "another process opened --lock-file " + k.Node.LockFile + "; " + rest
				cancel()
			}
			return err
		})
	}
	e := ending{working: map[string]bool{}}
	for _, part := range p.all {
		e.begun(part.name)
		group.Go(func() error {
			defer e.ended(part.name)
			if err := part.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
			return nil
		})
	}
	hung, err := e.wait(ctx, group.Wait)
	if len(hung) > 0 {
		reason += "; gave up after " + endTimeout.String() + ", still running: " + strings.Join(hung, ", ")
	}
	p.pods.syncer.Settle()
	a.say(trace.Agent{State: trace.AgentStopped, Reason: reason})
	return err
}

// Pods returns the pods of the node with their statuses.
func (a *Agent) Pods() []v1.Pod {
	if p := a.parts.Load(); p != nil {
		return p.pods.store.Pods()
	}
	return nil
}

// SourcesReady reports whether every pod source has delivered its pods, and all of them were processed.
func (a *Agent) SourcesReady() bool {
	p := a.parts.Load()
	return p != nil && p.pods.manager.SourcesReady()
}

func (a *Agent) say(ev trace.Agent) {
	ev.Node, ev.Version, ev.Simulated, ev.PID = a.cfg.NodeName, a.cfg.Version, a.cfg.Simulated, os.Getpid()
	trace.Point(a.cfg.Bus, trace.Span{}, ev)
}
