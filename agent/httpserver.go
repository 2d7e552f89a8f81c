package agent

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/auth"
	"github.com/kubeloupe/kubeloupe/agent/certs"
	"github.com/kubeloupe/kubeloupe/agent/loop"
	"github.com/kubeloupe/kubeloupe/agent/node"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/server"
	"github.com/kubeloupe/kubeloupe/agent/stats"
	"github.com/kubeloupe/kubeloupe/trace"
)

// newServer creates the HTTP servers: health, read-only, and the authenticated one.
func (p *parts) newServer(l *loop.Loop) error {
	s, kc, has := p.cfg.Kubelet.Server, p.cfg.Kubelet.Kubelet, p.cfg.Kubelet.Endpoints()
	c := server.Config{
		HealthzAddress: s.HealthzAddress, HealthzPort: s.HealthzPort, Address: s.Address, ReadOnlyPort: s.ReadOnlyPort,
		Pods: p.pods.store.Pods, Pod: p.pods.store.Pod, Observed: p.pleg.Cache(), Runtime: p.client.Runtime, Files: p.files, Metrics: p.cfg.Metrics, ProbeMetrics: p.cfg.ProbeMetrics,
		Checks:  p.checks(l),
		Configz: func() any { return p.cfg.Kubelet.Shown() }, Flags: p.cfg.Flags, Version: node.KubeletVersion(p.cfg.Version), Bus: p.cfg.Bus,
		Debug: server.Debug{
			Handlers: has.Debugging, SystemLogs: *kc.EnableSystemLogHandler, LogQuery: kc.EnableSystemLogQuery != nil && *kc.EnableSystemLogQuery,
			Profiling: *kc.EnableProfilingHandler, Contention: kc.EnableContentionProfiling, FlagsV: *kc.EnableDebugFlagsHandler,
			Flagz: has.Flagz, Statusz: has.Statusz,
		},
	}
	c.WebSockets = p.cfg.Kubelet.Gates.Enabled("ExtendWebSocketsToKubelet")
	c.SplitStreams = p.cfg.Kubelet.Gates.Enabled("PodLogsQuerySplitStreams")
	c.Checkpoints = p.checkpoints()
	if has.Allocated {
		c.Allocated = pods.Allocations{Store: p.pods.store, Resizes: p.pods.resizes, Workers: p.pods.registry}
	}
	if !p.cluster.alone() {
		c.UID = p.cluster.mirrors.Static
	}
	if err := p.addStats(&c); err != nil {
		return err
	}
	if err := p.secure(&c); err != nil {
		return err
	}
	if !s.Enabled {
		c.Port = 0 // the read-only port has its own setting
	}
	var err error
	p.server, err = server.New(c)
	return err
}

// checkpoints returns the directory of /checkpoint, or "" without its feature gate. The runtime writes there, and does not create it.
func (p *parts) checkpoints() string {
	if !p.cfg.Kubelet.Endpoints().Checkpoint {
		return ""
	}
	return filepath.Join(p.cfg.Kubelet.Node.RootDir, "checkpoints")
}

// statsFromCRI is the gate with which the runtime has the content of /metrics/cadvisor.
const statsFromCRI = "PodAndContainerStatsFromCRI"

// addStats adds the resource usage of the node and its pods. It is measured only on request.
func (p *parts) addStats(c *server.Config) error {
	s, err := stats.New(p.statsConfig())
	if err != nil {
		return err
	}
	p.host.stats = s
	c.Stats, c.ResourceMetrics, c.ContainerMetrics = s, s.ResourceMetrics(), s.ContainerMetrics()
	if p.cfg.Kubelet.Gates.Enabled(statsFromCRI) {
		c.ContainerMetrics = s.RuntimeContainerMetrics(p.client.Runtime, p.cfg.Bus)
	}
	return nil
}

func (p *parts) statsConfig() stats.Config {
	cfg := stats.Config{
		Node: p.cfg.NodeName, Runtime: p.client.Runtime, Images: p.client.Image, Pods: p.pods.store.Pods, Observed: p.pleg.Cache().Get,
		RootDir: p.cfg.Kubelet.Node.RootDir, Quota: p.quotaOf, RuntimeCgroup: p.cfg.Kubelet.Runtime.Cgroup, Machine: p.describedMachine(), Bus: p.cfg.Bus,
		KubeletCgroup: p.cfg.Kubelet.Kubelet.KubeletCgroups, SystemCgroup: p.cfg.Kubelet.Kubelet.SystemCgroups,
		Volumes: p.measuredVolumes, VolumePeriod: p.cfg.Kubelet.Kubelet.VolumeStatsAggPeriod.Duration,
	}
	if p.cgroups != nil {
		cfg.PodCgroup, cfg.Tiers = p.cgroups.PodParent, p.cgroups.Tiers()
	}
	return cfg
}

// describedMachine describes the machine for its metrics.
func (p *parts) describedMachine() stats.Machine {
	cores, sockets := map[int]bool{}, map[int]bool{}
	for _, c := range p.host.arrangement.CPUs {
		cores[c.Core], sockets[c.Socket] = true, true
	}
	info := node.ReadInfo("/", p.cfg.Version, 0)
	return stats.Machine{
		CPUs: int(p.host.machine.CPUs), Cores: len(cores), Sockets: len(sockets),
		Labels: []string{"boot_id", info.BootID, "machine_id", info.MachineID, "system_uuid", info.SystemUUID},
	}
}

// secure adds the authenticated port, unless no client could be authorized.
func (p *parts) secure(c *server.Config) error {
	kc := p.cfg.Kubelet.Kubelet
	a := auth.Config{
		Node: p.cfg.NodeName, ClientCAFile: kc.Authentication.X509.ClientCAFile,
		TokenTTL: kc.Authentication.Webhook.CacheTTL.Duration, Anonymous: *kc.Authentication.Anonymous.Enabled,
		AlwaysAllow: kc.Authorization.Mode == "AlwaysAllow",
		AllowedTTL:  kc.Authorization.Webhook.CacheAuthorizedTTL.Duration, DeniedTTL: kc.Authorization.Webhook.CacheUnauthorizedTTL.Duration,
	}
	switch {
	case !p.cluster.alone():
		api := p.cluster.clients.Main
		a.Access = api.AuthorizationV1().SubjectAccessReviews()
		if *kc.Authentication.Webhook.Enabled {
			a.Tokens = api.AuthenticationV1().TokenReviews()
		}
	case !a.AlwaysAllow || a.ClientCAFile == "" && !a.Anonymous:
		trace.Point(p.cfg.Bus, trace.Span{}, trace.Log{
			Level: trace.LevelDebug, Message: "the authenticated port is off: without an API server it needs authorization.mode AlwaysAllow, and a client CA or anonymous requests",
		})
		certs.Without(p.cfg.Bus, trace.UseServing, "the authenticated port is off: without an API server no client can be authorized")
		return nil
	}
	var err error
	if p.port.clients, err = auth.New(a); err != nil {
		return err
	}
	c.Auth = p.port.clients
	if p.port.serving == nil {
		if err := p.newServing(); err != nil {
			return err
		}
	}
	c.Port = kc.Port
	c.TLS = server.TLS{GetCertificate: p.port.serving.GetCertificate, MinVersion: kc.TLSMinVersion, CipherSuites: kc.TLSCipherSuites, Curves: kc.TLSCurvePreferences}
	p.add("serving certificate", p.port.serving.Run)
	return nil
}

// newServing creates the certificate of the authenticated port.
func (p *parts) newServing() (err error) {
	kc := p.cfg.Kubelet.Kubelet
	c := certs.ServingConfig{
		Bootstrap: kc.ServerTLSBootstrap, CertFile: kc.TLSCertFile, KeyFile: kc.TLSPrivateKeyFile, Dir: p.cfg.Kubelet.API.CertDir,
		Hostname: p.cfg.NodeName, NodeName: p.cfg.NodeName, Bus: p.cfg.Bus,
	}
	if c.Bootstrap && p.cluster.alone() {
		return errors.New("serverTLSBootstrap: it needs an API server: give --kubeconfig")
	}
	if c.Bootstrap {
		c.Client = p.cluster.clients.Main
		c.Addresses, c.NamesOnly = p.self.Addresses, p.cfg.Kubelet.Gates.Enabled("AllowDNSOnlyNodeCSR")
	}
	p.port.serving, err = certs.NewServing(c)
	return err
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
