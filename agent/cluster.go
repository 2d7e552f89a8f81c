package agent

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/kubeclient"
	"github.com/kubeloupe/kubeloupe/agent/mirror"
	"github.com/kubeloupe/kubeloupe/agent/objcache"
	"github.com/kubeloupe/kubeloupe/agent/podcert"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/agent/runtimeclass"
	"github.com/kubeloupe/kubeloupe/agent/status"
	"github.com/kubeloupe/kubeloupe/agent/token"
	"github.com/kubeloupe/kubeloupe/agent/volume/csi"
	"github.com/kubeloupe/kubeloupe/trace"
)

// cluster has the parts that use the API server. A standalone node has only events and runtime classes, and both are
// empty.
type cluster struct {
	clients  *kubeclient.Clients
	events   *events.Recorder
	classes  *runtimeclass.Classes
	objects  *objcache.Objects
	tokens   *token.Manager
	podCerts *podcert.Manager
	statuses *status.Manager
	mirrors  *mirror.Manager
	drivers  *csi.Plugin
	health   *csi.Health // of volumes; nil without its feature gate
	secrets  *redact.Vault
}

// alone reports whether there is no API server.
func (c *cluster) alone() bool { return c.clients == nil }

// newCluster creates the parts that need only the clients. It sends no request.
func (p *parts) newCluster(clients *kubeclient.Clients) (err error) {
	c := &cluster{clients: clients, secrets: p.cfg.secrets}
	p.cluster = c
	recorder := events.Config{
		Node: p.cfg.NodeName, NodeUID: p.self.UID, Bus: p.cfg.Bus, Secrets: p.cfg.secrets, Busy: p.slots.Waiting, Working: p.slots.Working,
		Withheld: func(pod *v1.Pod, container string) bool { return podruntime.Withheld(p.cfg.secrets, pod, container) },
	}
	if clients != nil {
		recorder.Client = clients.Events.CoreV1() // this client has the limits
	}
	if c.events, err = events.New(recorder); err != nil {
		return err
	}
	p.add("events", c.events.Run)
	if clients == nil {
		c.classes = runtimeclass.New(nil, p.cfg.Bus)
		return nil
	}
	c.classes = runtimeclass.New(clients.Main.NodeV1().RuntimeClasses(), p.cfg.Bus)
	return p.newAPIParts()
}

func (p *parts) newAPIParts() (err error) {
	c, bus, api := p.cluster, p.cfg.Bus, p.cluster.clients.Main
	c.objects, err = objcache.New(objcache.Config{
		Client: api, Bus: bus, Secrets: p.cfg.secrets, Strategy: objcache.Strategy(p.cfg.Kubelet.Kubelet.ConfigMapAndSecretChangeDetectionStrategy),
		Changed: p.pods.notices.Refresh,
	})
	if err != nil {
		return err
	}
	if c.tokens, err = token.New(token.Config{Accounts: api.CoreV1(), Bus: bus, Secrets: p.cfg.secrets}); err != nil {
		return err
	}
	c.podCerts, err = podcert.New(podcert.Config{
		Client: api, NodeName: p.cfg.NodeName, Events: c.events, Bus: bus, Secrets: p.cfg.secrets,
		NodeUID: p.self.UID,
		Changed: p.pods.notices.Refresh,
	})
	if err != nil {
		return err
	}
	known := mirror.NewKnown()
	c.statuses, err = status.New(status.Config{
		Client: api.CoreV1(), Mirrors: known, Bus: bus, Settle: status.DefaultSettle, Running: p.pods.registry.Running, Busy: p.slots.Waiting, Working: p.slots.Working,
	})
	if err != nil {
		return err
	}
	c.mirrors, err = mirror.New(mirror.Config{
		Client: api.CoreV1(), Node: p.cfg.NodeName, NodeUID: p.self.UID, Known: known, Changed: c.statuses.Observe, Bus: bus,
	})
	if err != nil {
		return err
	}
	p.add("objects", c.objects.Run)
	p.add("pod certificates", c.podCerts.Run)
	p.add("mirror pods", c.mirrors.Run)
	p.add("statuses", c.statuses.Run)
	return nil
}

// pullSecrets finds the image pull secrets of pods; nil finds none.
func (c *cluster) pullSecrets(bus *trace.Bus) *image.PullSecrets {
	if c.alone() {
		return nil
	}
	return image.NewPullSecrets(c.objects, c.events, bus)
}

// joinManager adds the API server's parts to the configuration of the pods' manager. Interfaces stay nil on a
// standalone node.
func (c *cluster) joinManager(m *pods.Config) {
	m.Events = c.events
	if c.alone() {
		return
	}
	m.Objects, m.Statuses, m.Mirrors = podObjects{c}, c.statuses, c.mirrors
}

func (c *cluster) joinSyncer(s *pods.SyncerConfig) {
	s.Events = c.events
	if c.alone() {
		return
	}
	s.Objects, s.Statuses, s.Mirrors = podObjects{c}, c.statuses, c.mirrors
}

// podObjects are the objects that pods refer to, with everything else that is registered with them.
type podObjects struct{ c *cluster }

// Register implements pods.Objects.
func (o podObjects) Register(pod *v1.Pod) {
	o.c.secrets.Public(string(pod.UID), func() string { return podspec.Text(pod) })
	o.c.objects.Register(pod)
}

// Unregister implements pods.Objects.
func (o podObjects) Unregister(pod *v1.Pod) {
	o.c.objects.Unregister(pod)
	o.c.tokens.Forget(pod.UID)
}
