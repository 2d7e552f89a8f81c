package agent

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/image/containerdprogress"
	"github.com/kubeloupe/kubeloupe/agent/image/provider"
	"github.com/kubeloupe/kubeloupe/agent/image/pulled"
)

func (p *parts) newImages(ctx context.Context) (*image.Puller, error) {
	client := p.client
	k, bus := p.cfg.Kubelet, p.cfg.Bus
	c := image.Config{
		Service: client.Image, Bus: bus, Serialize: k.Images.SerializePulls, MaxParallel: int(k.Images.MaxParallelPulls),
		QPS: float64(k.Images.PullQPS), Burst: int(k.Images.PullBurst),
		Keyring: image.NewFileKeyring(k.Node.RootDir, bus), Events: p.cluster.events, Secrets: p.cfg.secrets,
		Sandbox: p.pullSandbox,
	}
	if !p.cfg.Simulated && client.Info.GetRuntimeName() == "containerd" {
		c.Progress = containerdprogress.New(client.Conn).Follow
	}
	if path := k.API.CredentialConfig; path != "" {
		ask := provider.Config{Path: path, BinDir: k.API.CredentialBins, Bus: bus}
		if !p.cluster.alone() {
			ask.Tokens, ask.ServiceAccounts = p.cluster.tokens, serviceAccounts{p.cluster}
		}
		providers, err := provider.New(ask)
		if err != nil {
			return nil, err
		}
		c.Providers, p.pods.logins = providers, providers.ConfigHash()
	}
	if !p.cfg.Simulated && k.Gates.Enabled("KubeletEnsureSecretPulledImages") {
		policy, err := pulled.NewPolicy(k.Kubelet.ImagePullCredentialsVerificationPolicy, k.Kubelet.PreloadedImagesVerificationAllowlist)
		if err != nil {
			return nil, err
		}
		records, err := pulled.Open(k.Node.RootDir, policy, bus)
		if err != nil {
			return nil, err
		}
		if err := records.Settle(ctx, client.Image); err != nil {
			return nil, err
		}
		c.Records, p.pulled = records, records
	}
	return image.New(c)
}

// pullSandbox returns what the runtime learns with a pull about its pod.
func (p *parts) pullSandbox(pod *v1.Pod) *runtimeapi.PodSandboxConfig {
	return criconfig.PullSandbox(pod, p.cgroups.PodParent(pod))
}

// serviceAccounts reads service accounts from the API.
type serviceAccounts struct{ c *cluster }

// ServiceAccount implements provider.ServiceAccounts.
func (s serviceAccounts) ServiceAccount(ctx context.Context, namespace, name string) (*v1.ServiceAccount, error) {
	return s.c.clients.Main.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
}
