package agent

import (
	"context"

	"github.com/kubeloupe/kubeloupe/agent/certs"
	"github.com/kubeloupe/kubeloupe/agent/kubeclient"
	"github.com/kubeloupe/kubeloupe/trace"
)

// identity is the agent's identity at the API server; its fields are nil on a standalone node.
type identity struct {
	certs   *certs.ClientCerts
	clients *kubeclient.Clients
}

// identify gets the agent's certificate and creates its clients. If the certificate has to be requested first and is renewed by this agent,
// rotate requests it, and the clients wait for it.
//
// Upstream: cmd/kubelet/app/server.go, run.
func identify(ctx context.Context, cfg Config) (*identity, error) {
	k := cfg.Kubelet
	if k.API.Kubeconfig == "" {
		certs.Without(cfg.Bus, trace.UseClient, "this agent is standalone: it has no API server that needs one")
		return &identity{}, nil
	}
	agentName := "kubelet/" + cfg.Version
	own, err := certs.Background(ctx, certs.ClientConfig{
		Kubeconfig: k.API.Kubeconfig, BootstrapKubeconfig: k.API.Bootstrap, Dir: k.API.CertDir, NodeName: cfg.NodeName,
		Rotate: k.Kubelet.RotateCertificates, UserAgent: agentName, Bus: cfg.Bus,
		Secrets: cfg.secrets,
	})
	if err != nil {
		return nil, err
	}
	clients, err := kubeclient.New(kubeclient.Config{
		REST: own.REST, Certificate: own.Certificate(), Ready: own.Ready(), QPS: *k.Kubelet.KubeAPIQPS, Burst: k.Kubelet.KubeAPIBurst,
		EventQPS: *k.Kubelet.EventRecordQPS, EventBurst: k.Kubelet.EventBurst, ContentType: k.Kubelet.ContentType,
		StatusFrequency: k.Kubelet.NodeStatusUpdateFrequency.Duration, LeaseDuration: seconds(k.Kubelet.NodeLeaseDurationSeconds),
		UserAgent: agentName, Bus: cfg.Bus, Secrets: cfg.secrets,
	})
	if err != nil {
		return nil, err
	}
	return &identity{certs: own, clients: clients}, nil
}

// rotate requests the first certificate if there is none, renews it, and closes connections that use the old one.
func (id *identity) rotate(ctx context.Context) error {
	return id.certs.Run(ctx, id.clients.CloseConnections)
}
