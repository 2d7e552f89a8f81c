package agent

import (
	"context"
	"runtime"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/hook"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/probe"
	"github.com/kubeloupe/kubeloupe/agent/userns"
)

// newRuntime makes what carries out the plans of pods, with all that it needs.
func (p *parts) newRuntime(ctx context.Context, client *cri.Client) (*podruntime.Runtime, error) {
	images, err := p.newImages(ctx, client)
	if err != nil {
		return nil, err
	}
	if err := p.newResizes(); err != nil {
		return nil, err
	}
	if err := p.newVolumes(images); err != nil {
		return nil, err
	}
	p.prober, err = probe.New(probe.Config{
		Exec: client.Runtime, Observer: p.pleg.Cache(), Events: p.cluster.events, PodIP: p.podIP, CPU: p.cgroups.Throttling, Bus: p.cfg.Bus,
		H2C: p.cfg.Kubelet.Gates.Enabled("H2CContainerProbe"), GRPCTLS: p.cfg.Kubelet.Gates.Enabled("GRPCContainerProbeTLS"),
	})
	if err != nil {
		return nil, err
	}
	seams, err := p.seams(client)
	if err != nil {
		return nil, err
	}
	if err := p.watchNetwork(client); err != nil {
		return nil, err
	}
	k := p.cfg.Kubelet
	return podruntime.New(podruntime.Config{
		Sandboxes: prompting{client.Runtime, p.state}, Containers: client.Runtime, Images: images, Volumes: p.volumes, Cgroups: &podCgroups{p: p},
		Observer: observer{p.pleg}, Files: p.files, Gate: p.cfg.Gate, Slots: p.slots,
		Backoff: podruntime.NewCrashBackoff(k.Pods.MaxRestartBackoff),
		Node:    p.criNode(), DNS: p.dns, HostIPs: p.hostIPs,
		RootDir: k.Node.RootDir, LogLinks: p.logLinks(), Bus: p.cfg.Bus, Secrets: p.cfg.secrets, Seams: seams,
	})
}

// seams are what a pod gets of the cluster and of the node's other parts.
func (p *parts) seams(client *cri.Client) (podruntime.Seams, error) {
	c := p.cluster
	hooks, err := hook.New(hook.Config{Exec: client.Runtime, Events: c.events, Bus: p.cfg.Bus})
	if err != nil {
		return podruntime.Seams{}, err
	}
	s := podruntime.Seams{
		Events: c.events, Probes: p.prober, Hooks: hooks, RuntimeHandler: c.classes.Handler, ExtraGroups: p.volumes.ExtraGroups,
		BlockVolumes: p.volumes.BlockVolumes, Resizes: p.resizes, Updates: client.Runtime,
		Progress: func(ctx context.Context, pod *v1.Pod) { p.syncer.PublishStatus(ctx, pod.UID) },
	}
	if p.cgroups != nil {
		s.PodLimits = p.cgroups
	}
	if !p.cfg.Simulated {
		s.SubPath = p.subpaths
		if err := p.newUserNS(); err != nil {
			return s, err
		}
		s.UserNS = userNS{p.userns}
	}
	if c.alone() {
		return s, nil
	}
	s.EnvObjects, s.PullSecrets = c.objects, c.pullSecrets
	s.Services = func(ctx context.Context, pod *v1.Pod) ([]*v1.Service, error) {
		return c.objects.Services(ctx, pod.Namespace)
	}
	return s, nil
}

func (p *parts) newUserNS() (err error) {
	c := userns.Config{RootDir: p.cfg.Kubelet.Node.RootDir, MaxPods: int(p.cfg.Kubelet.Pods.Max), Bus: p.cfg.Bus}
	if u := p.cfg.Kubelet.Kubelet.UserNamespaces; u != nil && u.IDsPerPod != nil {
		c.PerPod = *u.IDsPerPod
	}
	p.userns, err = userns.New(c)
	return err
}

// userNS is userns.Ranges as podruntime wants it: a range whose file cannot be removed goes with the pod's directory.
type userNS struct{ *userns.Ranges }

// Release implements podruntime.UserNamespaces.
func (u userNS) Release(uid types.UID) { _ = u.Ranges.Release(uid) }

// pullSecrets are those that the pod names. One that is missing is skipped: the image may need none.
//
// Upstream: pkg/kubelet/kubelet_pods.go, getPullSecretsForPod.
func (c *cluster) pullSecrets(ctx context.Context, pod *v1.Pod) ([]v1.Secret, error) {
	var out []v1.Secret
	for _, ref := range pod.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue
		}
		secret, err := c.objects.Secret(ctx, pod.Namespace, ref.Name)
		switch {
		case apierrors.IsNotFound(err):
			c.events.Pod(ctx, pod, "", "Warning", "FailedToRetrieveImagePullSecret",
				"Unable to retrieve some image pull secrets ("+ref.Name+"); attempting to pull the image may not succeed.")
		case err != nil:
			return nil, err
		default:
			out = append(out, *secret)
		}
	}
	return out, nil
}

// podIP is where probes and hooks find a pod.
func (p *parts) podIP(pod *v1.Pod) string {
	if pod.Spec.HostNetwork {
		return p.hostIPs[0]
	}
	if s := p.pleg.Cache().Get(pod.UID).Sandbox(); s != nil && len(s.IPs) > 0 {
		return s.IPs[0]
	}
	return ""
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
