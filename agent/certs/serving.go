package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/trace"
)

// ServingConfig is the configuration of the HTTPS server's certificate.
type ServingConfig struct {
	Bootstrap         bool   // serverTLSBootstrap: requested from the API server, and renewed
	CertFile, KeyFile string // tlsCertFile and tlsPrivateKeyFile; if empty and without Bootstrap, a self-signed one in Dir is used
	Dir               string // --cert-dir
	Hostname          string // of the self-signed certificate
	NodeName          string
	// Addresses returns the node's addresses, for Bootstrap: nothing is requested before there is an IP. Call Changed
	// when they change.
	Addresses func() []v1.NodeAddress
	NamesOnly bool              // a DNS name is enough (feature gate AllowDNSOnlyNodeCSR)
	Client    kubeapi.Interface // for Bootstrap
	Bus       *trace.Bus
}

// Serving is the HTTPS server's certificate.
type Serving struct {
	rot   *rotator // with Bootstrap
	files *files   // without Bootstrap
}

// NewServing reads the certificate, or creates a self-signed one. With Bootstrap there may be none until Run gets one.
//
// Upstream: cmd/kubelet/app/server.go (InitializeTLS), pkg/kubelet/certificate/kubelet.go.
func NewServing(cfg ServingConfig) (*Serving, error) {
	if cfg.Bootstrap {
		return newSigned(cfg)
	}
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return nil, errors.New("tlsCertFile and tlsPrivateKeyFile: give both or none")
	}
	source := trace.CertificateFile
	if cfg.CertFile == "" {
		source = trace.CertificateSelfSigned
		cfg.CertFile, cfg.KeyFile = filepath.Join(cfg.Dir, "kubelet.crt"), filepath.Join(cfg.Dir, "kubelet.key")
		if err := selfSigned(cfg); err != nil {
			return nil, err
		}
	}
	f := &files{certFile: cfg.CertFile, keyFile: cfg.KeyFile, source: source, bus: cfg.Bus}
	if _, err := f.get(); err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	return &Serving{files: f}, nil
}

func newSigned(cfg ServingConfig) (*Serving, error) {
	if cfg.Client == nil || cfg.Addresses == nil {
		return nil, errors.New("serverTLSBootstrap: it needs a cluster: give --kubeconfig")
	}
	store, err := newStore(cfg.Dir, "kubelet-server", cfg.CertFile, cfg.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate directory %s: %w", cfg.Dir, err)
	}
	r := &rotator{
		what: trace.UseServing, signer: certificatesv1.KubeletServingSignerName, store: store, bus: cfg.Bus,
		given: given{trace.CertificateFile, cfg.CertFile}, cause: trace.CertificateStart,
		usages:   []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		template: func() *x509.CertificateRequest { return servingTemplate(cfg.NodeName, cfg.Addresses(), cfg.NamesOnly) },
		client:   func() (kubeapi.Interface, func(), error) { return cfg.Client, func() {}, nil },
		rotated:  func() {}, changed: make(chan struct{}, 1),
	}
	if err := r.load(); err != nil {
		if !errors.Is(err, errNoPair) {
			return nil, fmt.Errorf("serving certificate in %s: %w", cfg.Dir, err)
		}
	}
	return &Serving{rot: r}, nil
}

// GetCertificate implements tls.Config.GetCertificate.
func (s *Serving) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.files != nil {
		return s.files.get()
	}
	if c := s.rot.current.Load(); c != nil {
		return c, nil
	}
	return nil, errors.New("no serving certificate yet: its signing request (kubernetes.io/kubelet-serving) waits for approval")
}

// Changed reports that the node's addresses may have changed. It never blocks.
func (s *Serving) Changed() {
	if s.rot == nil {
		return
	}
	select {
	case s.rot.changed <- struct{}{}:
	default:
	}
}

// Run renews the certificate until ctx ends. Files are read again when a handshake finds them changed.
func (s *Serving) Run(ctx context.Context) error {
	if s.rot == nil {
		<-ctx.Done()
		return nil
	}
	return s.rot.run(ctx)
}

// servingTemplate requests all names and addresses of the node; nil before there is an address.
func servingTemplate(node string, addresses []v1.NodeAddress, namesOnly bool) *x509.CertificateRequest {
	t := &x509.CertificateRequest{Subject: subject(node)}
	var ips []string
	for _, a := range addresses {
		ip := net.ParseIP(a.Address)
		switch {
		case a.Address == "":
		case ip != nil:
			ips = append(ips, ip.String())
		case a.Type == v1.NodeHostName, a.Type == v1.NodeInternalDNS, a.Type == v1.NodeExternalDNS:
			t.DNSNames = append(t.DNSNames, a.Address)
		}
	}
	slices.Sort(ips)
	for _, ip := range slices.Compact(ips) {
		t.IPAddresses = append(t.IPAddresses, net.ParseIP(ip))
	}
	slices.Sort(t.DNSNames)
	t.DNSNames = slices.Compact(t.DNSNames)
	if len(t.IPAddresses) == 0 && !(namesOnly && len(t.DNSNames) > 0) {
		return nil
	}
	return t
}

// selfSigned creates a pair for the hostname, unless one exists.
func selfSigned(cfg ServingConfig) error {
	found, err := cert.CanReadCertAndKey(cfg.CertFile, cfg.KeyFile)
	if err != nil {
		return fmt.Errorf("self-signed serving certificate: %w", err)
	}
	if found {
		return nil
	}
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey(cfg.Hostname, nil, nil)
	if err != nil {
		return fmt.Errorf("make a self-signed serving certificate: %w", err)
	}
	if err := cert.WriteCert(cfg.CertFile, certPEM); err != nil {
		return fmt.Errorf("write the serving certificate: %w", err)
	}
	if err := keyutil.WriteKey(cfg.KeyFile, keyPEM); err != nil {
		return fmt.Errorf("write the serving certificate's key: %w", err)
	}
	return nil
}

// hasAll reports whether have contains all of want.
func hasAll(have, want []string) bool {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}
