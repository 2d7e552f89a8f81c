package certs

import (
	"crypto/x509"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Without publishes that there is no certificate for a use, and why none is needed.
func Without(bus *trace.Bus, use trace.CertificateUse, why string) {
	trace.Point(bus, trace.Span{}, trace.Certificate{Use: use, None: why})
}

// missing publishes that there is no certificate for a use yet.
func missing(bus *trace.Bus, use trace.CertificateUse, why string) {
	trace.Point(bus, trace.Span{}, trace.Certificate{Use: use, None: why, Awaited: true})
}

// described returns e with a certificate's own data. Nothing in it is secret: everyone who connects sees it.
func described(e trace.Certificate, leaf *x509.Certificate) trace.Certificate {
	e.Name, e.Issuer = leaf.Subject.CommonName, leaf.Issuer.CommonName
	e.Names = append(e.Names, leaf.DNSNames...)
	e.Names = append(e.Names, texts(leaf.IPAddresses)...)
	if leaf.SerialNumber != nil {
		e.Serial = leaf.SerialNumber.Text(16)
	}
	e.NotBefore, e.NotAfter = leaf.NotBefore.UTC(), leaf.NotAfter.UTC()
	return e
}

// tell publishes the rotator's certificate, or that there is none yet. when is when it will be renewed.
func (r *rotator) tell(when time.Time) {
	current := r.current.Load()
	if current == nil {
		missing(r.bus, r.what, "none yet: it is requested from the API server when the node has an address, and the request must be approved")
		return
	}
	e := trace.Certificate{Use: r.what, Cause: r.cause, Source: trace.CertificateCSR, Path: r.store.currentPath(), Renew: when.UTC().Truncate(time.Second)}
	if _, err := os.Stat(e.Path); err != nil || r.borrowed.Load() { // the store does not have it yet
		e.Source, e.Path = r.given.source, r.given.path
	}
	if r.borrowed.Load() {
		e.Renew = time.Now().UTC().Truncate(time.Second)
	}
	trace.Point(r.bus, trace.Span{}, described(e, current.Leaf))
}

// given is the origin of a certificate from before the first one that was signed for this agent.
type given struct {
	source trace.CertificateSource
	path   string
}

// tellFixed publishes the client certificate of a kubeconfig that is used unchanged.
func tellFixed(cfg *ClientConfig, restCfg *rest.Config) {
	text, path := restCfg.CertData, cfg.Kubeconfig
	if len(text) == 0 && restCfg.CertFile != "" {
		path = restCfg.CertFile
		text, _ = wholefile.Read(path, wholefile.Large) // its user reports the error
	}
	list, err := cert.ParseCertsPEM(text)
	if err != nil || len(list) == 0 {
		why := "the kubeconfig has none: the node authenticates in another way, for example with a token"
		if len(text) > 0 || restCfg.CertFile != "" {
			why = "that of the kubeconfig cannot be read"
		}
		Without(cfg.Bus, trace.UseClient, why)
		return
	}
	trace.Point(cfg.Bus, trace.Span{}, described(trace.Certificate{Use: trace.UseClient, Cause: trace.CertificateStart, Source: trace.CertificateKubeconfig, Path: path}, list[0]))
}
