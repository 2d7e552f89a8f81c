package certs

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/trace"
)

// approvalTimeout is how long a signing request may wait before a new one is created.
const approvalTimeout = 15 * time.Minute

const (
	firstBackoff = 2 * time.Second
	maxBackoff   = 32 * time.Second
)

// rotator keeps one certificate current.
//
// Upstream: client-go/util/certificate/certificate_manager.go. That manager checks every second; this one sleeps.
type rotator struct {
	what     trace.CertificateUse
	signer   string
	usages   []certificatesv1.KeyUsage
	template func() *x509.CertificateRequest // returns nil while nothing can be requested
	store    *store
	given    given
	cause    trace.CertificateCause // of the current certificate, as Certificate.Cause
	client   func() (c kubeapi.Interface, done func(), err error)
	revive   func(context.Context) error // gets another certificate if this one has expired and cannot renew itself; nil if that is not possible
	rotated  func()
	bus      *trace.Bus

	current  atomic.Pointer[tls.Certificate] // nil before the first
	borrowed atomic.Bool                     // current is not from the store: it must be replaced at once
	changed  chan struct{}                   // the template may have changed
}

// load loads the certificate from the store, if there is one.
func (r *rotator) load() error {
	cert, err := r.store.current()
	if err != nil {
		return err
	}
	r.current.Store(cert)
	return nil
}

// run renews the certificate when it is due, until ctx ends.
func (r *rotator) run(ctx context.Context) error {
	var (
		first  = backoff.Doubling(firstBackoff, maxBackoff)
		pauses = first
		of     *tls.Certificate // the certificate of the deadline
		when   time.Time
		fresh  bool // the certificate was signed since the last pause
	)
	for {
		now, current := time.Now(), r.current.Load()
		if current != of || when.IsZero() {
			of, when = current, deadline(current, now)
			r.tell(when)
		}
		template := r.template()
		reason := r.due(template, current, when, now)
		if reason == "" || template == nil {
			pauses, fresh = first, false
			d := time.Duration(math.MaxInt64)
			if template != nil {
				d = clock.Until(when)
			}
			if !r.sleep(ctx, d) {
				return nil
			}
			continue
		}
		if fresh { // a signer may leave out names, or issue certificates that have almost expired: the next one would be the same
			fresh = false
			if !r.waitAgain(ctx, pauses.Step(), fmt.Errorf("the certificate that was signed just now must be replaced: %s", reason)) {
				return nil
			}
			continue
		}
		r.decide(ctx, reason)
		if r.cause = trace.CertificateRenewed; current == nil {
			r.cause = trace.CertificateSigned
		}
		err := r.obtain(ctx, template)
		if err != nil && current != nil && now.After(current.Leaf.NotAfter) && ctx.Err() == nil {
			err = r.recover(ctx, current, err)
		}
		if err == nil {
			fresh = true
			r.rotated()
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if !r.waitAgain(ctx, pauses.Step(), err) {
			return nil
		}
	}
}

// recover gets another certificate without using the expired one.
func (r *rotator) recover(ctx context.Context, expired *tls.Certificate, err error) error {
	err = fmt.Errorf("it is expired since %s: %w", expired.Leaf.NotAfter.UTC().Format(time.RFC3339), err)
	if r.revive == nil {
		return err
	}
	r.decide(ctx, err.Error())
	if again := r.revive(ctx); again != nil {
		return errors.Join(err, again)
	}
	r.cause = trace.CertificateBootstrap
	return r.load()
}

// due returns why the certificate must be replaced; "" if it need not be.
func (r *rotator) due(template *x509.CertificateRequest, current *tls.Certificate, when, now time.Time) string {
	switch {
	case template == nil:
		return ""
	case current == nil:
		return "there is none"
	case r.borrowed.Load():
		return "the one in the kubeconfig is not the node's own"
	case !covers(current.Leaf, template):
		return "the node's names or addresses are others"
	case !now.Before(when):
		return fmt.Sprintf("it is valid until %s", current.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return ""
}

func (r *rotator) decide(ctx context.Context, reason string) {
	d := trace.Decision{By: trace.ByCerts, Subject: string(r.what) + " certificate", Verdict: trace.VerdictRenew, Reason: reason}
	trace.Point(r.bus, trace.FromContext(ctx), d)
}

// waitAgain pauses after err; false if ctx ended.
func (r *rotator) waitAgain(ctx context.Context, d time.Duration, err error) bool {
	d += mathrand.N(d/10 + 1)
	w := trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetCertificate, Name: string(r.what)}, Until: time.Now().Add(d).UnixNano()}.WithCause(err.Error())
	span := trace.Begin(r.bus, trace.FromContext(ctx), w)
	defer trace.End(r.bus, span, w)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sleep waits for d or a changed template; false if ctx ended.
func (r *rotator) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.changed:
	case <-ctx.Done():
		return false
	}
	return true
}

// obtain creates a key, gets a signed certificate for it and stores both.
func (r *rotator) obtain(ctx context.Context, template *x509.CertificateRequest) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	request, err := cert.MakeCSRFromTemplate(key, template)
	if err != nil {
		return fmt.Errorf("make the signing request: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key: %w", err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: keyutil.ECPrivateKeyBlockType, Bytes: der})
	client, done, err := r.client()
	if err != nil {
		return err
	}
	defer done()
	asking, stop := r.whileEnough(ctx, template)
	defer stop()
	certPEM, err := signed(asking, r.bus, client, request, "", r.signer, r.usages, key)
	if err != nil {
		return fmt.Errorf("%s certificate: %w", r.what, err)
	}
	return r.take(certPEM, keyPEM)
}

// whileEnough returns a context that ends when the node needs a certificate for more than was asked: who approves the request would approve the
// wrong one. stop must be called.
func (r *rotator) whileEnough(ctx context.Context, asked *x509.CertificateRequest) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.changed:
				if now := r.template(); now != nil && !enough(asked, now) {
					cancel(errors.New("the node's names or addresses are others than those of the signing request"))
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (r *rotator) take(certPEM, keyPEM []byte) error {
	cert, err := r.store.update(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("store the %s certificate: %w", r.what, err)
	}
	r.borrowed.Store(false)
	r.current.Store(cert)
	return nil
}

// signed creates a signing request, or finds an existing one of that name, and waits for the certificate.
func signed(ctx context.Context, bus *trace.Bus, client kubeapi.Interface, request []byte, name, signer string, usages []certificatesv1.KeyUsage, key crypto.Signer) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, approvalTimeout, fmt.Errorf("the signing request was not approved within %s", approvalTimeout))
	defer cancel()
	ctx = klog.NewContext(ctx, klog.Logger{}) // events are published here instead
	want := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: request, SignerName: signer, Usages: usages},
	}
	if name == "" {
		want.GenerateName = "csr-"
	}
	name, uid, err := ask(ctx, client, want, key)
	if err != nil {
		return nil, fmt.Errorf("make the signing request: %w", err)
	}
	w := trace.Wait{For: trace.WaitApproval, Target: trace.Target{Kind: trace.TargetRequest, Name: name}, Limit: approvalTimeout}
	span := trace.Begin(bus, trace.FromContext(ctx), w)
	defer trace.End(bus, span, w)
	certPEM, err := await(trace.ContextWith(ctx, span), client, name, uid)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("signing request %s: %w", name, err)
	}
	return certPEM, nil
}

// deadline returns when a certificate must be renewed: after 70 to 90 % of its lifetime.
func deadline(c *tls.Certificate, now time.Time) time.Time {
	if c == nil || c.Leaf == nil {
		return now
	}
	life := c.Leaf.NotAfter.Sub(c.Leaf.NotBefore)
	return c.Leaf.NotBefore.Add(time.Duration(float64(life) * (0.7 + 0.2*mathrand.Float64())))
}

// covers reports whether a certificate has all names and addresses of the template.
func covers(leaf *x509.Certificate, template *x509.CertificateRequest) bool {
	return enough(&x509.CertificateRequest{Subject: leaf.Subject, DNSNames: leaf.DNSNames, IPAddresses: leaf.IPAddresses}, template)
}

// enough reports whether there is all in a request that is wanted now.
func enough(asked, wanted *x509.CertificateRequest) bool {
	return asked.Subject.CommonName == wanted.Subject.CommonName && hasAll(asked.DNSNames, wanted.DNSNames) &&
		hasAll(asked.Subject.Organization, wanted.Subject.Organization) && hasAll(texts(asked.IPAddresses), texts(wanted.IPAddresses))
}

func texts(ips []net.IP) []string {
	out := make([]string, 0, len(ips))
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}
