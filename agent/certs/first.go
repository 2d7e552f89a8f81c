package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/agent/kubeclient"
	"github.com/kubeloupe/kubeloupe/trace"
)

// refusalPatience is how long a bootstrap in the background may be refused: an API server that has just started does not know the tokens
// and the bindings yet. Upstream ends the kubelet after five minutes.
const refusalPatience = 30 * time.Second

// first is a certificate that was not there at the start.
type first struct {
	cfg   ClientConfig
	boot  *rest.Config // of the clients that wait for it
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
	return &ClientCerts{REST: rest.AnonymousClientConfig(boot), first: &first{cfg: cfg, boot: boot, ready: make(chan struct{})}}, nil
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
	got, err := client(ctx, f.cfg, refusalPatience)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if now := got.REST; now.Host != f.boot.Host || now.ServerName != f.boot.ServerName || now.CAFile != f.boot.CAFile || now.CAFile == "" && !bytes.Equal(now.CAData, f.boot.CAData) {
		return fmt.Errorf("bootstrap kubeconfig %s: the address or the CA of the API server is not the one of the agent's start any more: start the agent again", f.cfg.BootstrapKubeconfig)
	}
	f.got.Store(got)
	close(f.ready)
	return got.Run(ctx, rotated)
}
