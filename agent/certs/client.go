package certs

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/kubeclient"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// ClientConfig is the configuration of the client certificate.
type ClientConfig struct {
	Kubeconfig          string // --kubeconfig: read, or written after a bootstrap
	BootstrapKubeconfig string // --bootstrap-kubeconfig; empty means none
	Dir                 string // --cert-dir
	NodeName            string
	Rotate              bool // rotateCertificates
	UserAgent           string
	Bus                 *trace.Bus
	Secrets             *redact.Vault // learns tokens of both; may be nil

	// dial creates the client for signing requests; nil means a real one.
	dial func(kubeclient.Config) (kubeapi.Interface, func(), error)
}

func (c *ClientConfig) client(restCfg *rest.Config, current func() *tls.Certificate) (kubeapi.Interface, func(), error) {
	cfg := kubeclient.Config{REST: restCfg, Certificate: current, UserAgent: c.UserAgent, Bus: c.Bus, Secrets: c.Secrets}
	if c.dial != nil {
		return c.dial(cfg)
	}
	return kubeclient.One(cfg, trace.ClientCerts)
}

// ClientCerts is the node's identity at the API server.
type ClientCerts struct {
	// REST is for kubeclient.Config.REST.
	REST *rest.Config
	rot  *rotator // nil if nothing is renewed
	// first is the certificate that Run gets first; nil if there was one from the beginning.
	first *first
}

// disclose adds a kubeconfig's credentials to the vault.
func (c *ClientConfig) disclose(path string, r *rest.Config) {
	c.Secrets.Learn(redact.Node, path, kubeclient.Secrets(r)...)
}

// Client returns the kubeconfig's identity. If there is none, or its certificate has expired, and there is a bootstrap
// kubeconfig, it requests a certificate and waits until it is approved, or ctx ends. Errors say what to do.
//
// Upstream: cmd/kubelet/app/server.go, buildKubeletClientConfig.
func Client(ctx context.Context, cfg ClientConfig) (*ClientCerts, error) {
	return client(ctx, cfg, 0)
}

// client is Client. A bootstrap that is refused is tried again for the time of patience.
func client(ctx context.Context, cfg ClientConfig, patience time.Duration) (*ClientCerts, error) {
	if cfg.Kubeconfig == "" {
		return nil, errors.New("no kubeconfig: give --kubeconfig")
	}
	cause := trace.CertificateStart
	if cfg.BootstrapKubeconfig != "" {
		if why := unusable(cfg.Kubeconfig); why != nil {
			trace.Point(cfg.Bus, trace.FromContext(ctx), trace.Decision{
				By: trace.ByCerts, Subject: "client certificate", Verdict: trace.VerdictBootstrap, Reason: why.Error(),
				Inputs: []trace.KV{{K: "bootstrap-kubeconfig", V: cfg.BootstrapKubeconfig}},
			})
			if err := bootstrap(ctx, cfg, patience); err != nil {
				return nil, err
			}
			cause = trace.CertificateBootstrap
		}
	}
	restCfg, err := kubeclient.Load(cfg.Kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.disclose(cfg.Kubeconfig, restCfg)
	hasCert := restCfg.CertFile != "" || len(restCfg.CertData) > 0
	if !cfg.Rotate || !hasCert {
		if err := kubeclient.Expired(restCfg, time.Now()); err != nil {
			return nil, fmt.Errorf("kubeconfig %s: %w", cfg.Kubeconfig, err)
		}
		tellFixed(&cfg, restCfg)
		return &ClientCerts{REST: restCfg}, nil
	}
	c, err := rotating(cfg, restCfg)
	if err != nil {
		return nil, err
	}
	c.rot.cause = cause
	return c, nil
}

// rotating uses the certificate in the store or, if there is none or it has expired, the kubeconfig's own, which is replaced soon.
func rotating(cfg ClientConfig, restCfg *rest.Config) (*ClientCerts, error) {
	store, err := newStore(cfg.Dir, clientPair, restCfg.CertFile, restCfg.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate directory %s: %w", cfg.Dir, err)
	}
	c := &ClientCerts{REST: rest.AnonymousClientConfig(restCfg)}
	c.rot = &rotator{
		what: trace.UseClient, signer: certificatesv1.KubeAPIServerClientKubeletSignerName, store: store, bus: cfg.Bus,
		given:    given{"kubeconfig", cmp.Or(restCfg.CertFile, cfg.Kubeconfig)},
		usages:   []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		template: func() *x509.CertificateRequest { return &x509.CertificateRequest{Subject: subject(cfg.NodeName)} },
		client: func() (kubeapi.Interface, func(), error) {
			return cfg.client(c.REST, c.Current)
		},
	}
	if cfg.BootstrapKubeconfig != "" {
		c.rot.revive = func(ctx context.Context) error { return bootstrap(ctx, cfg, 0) }
	}
	err = c.rot.load()
	if err != nil && !errors.Is(err, errNoPair) && len(restCfg.CertData) == 0 {
		return nil, fmt.Errorf("client certificate in %s: %w", cfg.Dir, err)
	}
	if err != nil || len(restCfg.CertData) > 0 && time.Now().After(c.rot.current.Load().Leaf.NotAfter) {
		pair, err := tls.X509KeyPair(restCfg.CertData, restCfg.KeyData)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig %s: client certificate: %w", cfg.Kubeconfig, err)
		}
		c.rot.current.Store(&pair)
		c.rot.borrowed.Store(true)
	}
	leaf := c.rot.current.Load().Leaf
	if now := time.Now(); now.After(leaf.NotAfter) {
		return nil, fmt.Errorf("client certificate of %s was valid until %s: give --bootstrap-kubeconfig with a valid token to get a new one",
			leaf.Subject.CommonName, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return c, nil
}

// Certificate is for kubeclient.Config.Certificate: nil if the kubeconfig's own is used.
func (c *ClientCerts) Certificate() func() *tls.Certificate {
	if c.rot == nil && c.first == nil {
		return nil
	}
	return c.Current
}

// Current returns the current certificate; nil if it is not kept here, or if there is none yet.
func (c *ClientCerts) Current() *tls.Certificate {
	if c.first != nil {
		return c.first.current()
	}
	if c.rot == nil {
		return nil
	}
	return c.rot.current.Load()
}

// Run gets the first certificate, if there is none yet, and renews it until ctx ends. rotated is called after each renewal, to open new
// connections. An error says that there will be no first certificate.
func (c *ClientCerts) Run(ctx context.Context, rotated func()) error {
	if c.first != nil {
		return c.first.run(ctx, rotated)
	}
	if c.rot == nil {
		<-ctx.Done()
		return nil
	}
	c.rot.rotated = rotated
	return c.rot.run(ctx)
}

func subject(node string) pkix.Name {
	return pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
}
