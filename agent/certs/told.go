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

// Without says that there is no certificate for a use, and why, in words.
func Without(bus *trace.Bus, use trace.CertificateUse, why string) {
	trace.Point(bus, trace.Span{}, trace.Certificate{Use: use, None: why})
}

// described is e with what a certificate says of itself. Nothing in it is secret: it is shown to whoever connects.
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

// tell publishes the rotator's certificate, or that there is none yet. It is renewed at when.
func (r *rotator) tell(when time.Time) {
	current := r.current.Load()
	if current == nil {
		Without(r.bus, r.what, "none yet: it is requested from the API server when the node has an address, and the request must be approved")
		return
	}
	e := trace.Certificate{Use: r.what, Cause: r.cause, Source: trace.CertificateCSR, Path: r.store.CurrentPath(), Renew: when.UTC().Truncate(time.Second)}
	if _, err := os.Stat(e.Path); err != nil || r.borrowed.Load() { // the store has none of its own yet
		e.Source, e.Path = r.given.source, r.given.path
	}
	if r.borrowed.Load() {
		e.Renew = time.Now().UTC().Truncate(time.Second)
	}
	trace.Point(r.bus, trace.Span{}, described(e, current.Leaf))
}

// given is where a certificate is from that was there before the first that was signed for this agent.
type given struct {
	source trace.CertificateSource
	path   string
}

// tellFixed publishes the client certificate of a kubeconfig that is used as it is.
func tellFixed(cfg *ClientConfig, restCfg *rest.Config) {
	text, path := restCfg.CertData, cfg.Kubeconfig
	if len(text) == 0 && restCfg.CertFile != "" {
		path = restCfg.CertFile
		text, _ = wholefile.Read(path, wholefile.Large) // who connects with it says what is wrong
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
