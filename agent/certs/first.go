package certs

import (
	"context"
	"crypto/tls"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/agent/kubeclient"
	"github.com/kubeloupe/kubeloupe/trace"
)

// first is a certificate that was not there at the start.
type first struct {
	cfg   ClientConfig
	ready chan struct{}
	got   atomic.Pointer[ClientCerts] // nil before ready is closed
}

// Background is Client, but does not wait for the certificate of a bootstrap if the agent renews it: Run requests it. Meanwhile, the node's static
// pods start: one of them may be the way to the API server.
//
// Upstream: cmd/kubelet/app/server.go, buildKubeletClientConfig.
func Background(ctx context.Context, cfg ClientConfig) (*ClientCerts, error) {
	if !cfg.Rotate || cfg.Kubeconfig == "" || cfg.BootstrapKubeconfig == "" || unusable(cfg.Kubeconfig) == nil {
		return Client(ctx, cfg)
	}
	boot, err := kubeclient.Load(cfg.BootstrapKubeconfig)
	if err != nil {
		return Client(ctx, cfg) // which says what is wrong
	}
	missing(cfg.Bus, trace.UseClient, "none yet: it is requested with the bootstrap kubeconfig, and the request must be approved")
	return &ClientCerts{REST: rest.AnonymousClientConfig(boot), first: &first{cfg: cfg, ready: make(chan struct{})}}, nil
}

// Ready is for kubeclient.Config.Ready: nil if there was a certificate from the beginning.
func (c *ClientCerts) Ready() <-chan struct{} {
	if c.first == nil {
		return nil
	}
	return c.first.ready
}

func (f *first) current() *tls.Certificate {
	if got := f.got.Load(); got != nil {
		return got.Current()
	}
	return nil
}

// run requests the certificate, and then renews it until ctx ends.
func (f *first) run(ctx context.Context, rotated func()) error {
	got, err := Client(ctx, f.cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	f.got.Store(got)
	close(f.ready)
	return got.Run(ctx, rotated)
}
