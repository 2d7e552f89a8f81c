package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/kubeclient"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// authority is an API server that signs requests.
type authority struct {
	*fake.Clientset
	t    *testing.T
	key  *ecdsa.PrivateKey
	ttl  time.Duration
	made atomic.Int64
	last atomic.Pointer[string] // the last request
	fail atomic.Pointer[error]
	hold atomic.Bool // requests are not approved
	bare atomic.Bool // certificates have no names
}

func newAuthority(t *testing.T, ttl time.Duration) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{Clientset: fake.NewClientset(), t: t, key: key, ttl: ttl}
	a.PrependReactor("create", "certificatesigningrequests", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if err := a.fail.Load(); err != nil && *err != nil {
			return true, nil, *err
		}
		n := a.made.Add(1)
		if n > 500 {
			return true, nil, errors.New("too many requests")
		}
		o := action.(clienttesting.CreateAction).GetObject().(*certificatesv1.CertificateSigningRequest)
		if o.Name == "" {
			o.Name = o.GenerateName + string(rune('a'+n))
		}
		if old := a.last.Swap(&o.Name); old != nil { // the fake ignores field selectors
			_ = a.Tracker().Delete(certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"), "", *old)
		}
		if !a.hold.Load() {
			a.sign(o)
		}
		return false, nil, nil
	})
	return a
}

func (a *authority) sign(o *certificatesv1.CertificateSigningRequest) {
	block, _ := pem.Decode(o.Spec.Request)
	req, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		a.t.Error(err)
		return
	}
	o.Status.Certificate = a.issue(req.Subject, req.PublicKey, req)
	o.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: v1.ConditionTrue}}
}

func (a *authority) issue(subject pkix.Name, public any, req *x509.CertificateRequest) []byte {
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, NotBefore: time.Now(), NotAfter: time.Now().Add(a.ttl)}
	if req != nil {
		template.IPAddresses = req.IPAddresses
		if !a.bare.Load() {
			template.DNSNames = req.DNSNames
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}}, public, a.key)
	if err != nil {
		a.t.Error(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (a *authority) dial(kubeclient.Config) (kubeapi.Interface, func(), error) {
	return fakeapi.Of(a), func() {}, nil
}

const bootKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443"}}]
users: [{name: u, user: {token: abc.def}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

func setup(t *testing.T, a *authority) (ClientConfig, *tracetest.Recorder) {
	t.Helper()
	dir, rec := t.TempDir(), tracetest.New(t)
	cfg := ClientConfig{
		Kubeconfig: filepath.Join(dir, "kubeconfig"), BootstrapKubeconfig: filepath.Join(dir, "boot"), Dir: filepath.Join(dir, "pki"),
		NodeName: "lab-1", Rotate: true, Bus: rec.Bus(), dial: a.dial,
	}
	if err := os.WriteFile(cfg.BootstrapKubeconfig, []byte(bootKubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return cfg, rec
}

// A token becomes a certificate in files with upstream's names; it is reused, and renewed in time; an expired one is
// requested again.
func TestClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, rec := setup(t, a)
		c, err := Client(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		pem := filepath.Join(cfg.Dir, "kubelet-client-current.pem")
		text, err := os.ReadFile(cfg.Kubeconfig)
		if err != nil || !strings.Contains(string(text), "client-certificate: "+pem) || !strings.Contains(string(text), "https://10.0.0.1:6443") {
			t.Errorf("%s %v", text, err)
		}
		if _, err := os.Stat(filepath.Join(cfg.Dir, pendingKey)); err == nil {
			t.Error("the pending key is left")
		}
		if c.REST.BearerToken != "" || c.Current().Leaf.Subject.CommonName != "system:node:lab-1" || c.Current().Leaf.Subject.Organization[0] != "system:nodes" {
			t.Errorf("%+v", c.Current().Leaf.Subject)
		}
		first := c.Current()
		ctx, cancel := context.WithCancel(t.Context())
		var rotations atomic.Int64
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx, func() { rotations.Add(1) }) }()
		time.Sleep(40 * time.Minute) //nolint:forbidigo // the bubble's
		synctest.Wait()
		if rotations.Load() != 0 {
			t.Errorf("renewed after 40 minutes of an hour")
		}
		time.Sleep(15 * time.Minute) //nolint:forbidigo // the bubble's
		synctest.Wait()
		if rotations.Load() != 1 || c.Current() == first {
			t.Errorf("%d renewals in 55 minutes of an hour", rotations.Load())
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		made := a.made.Load()
		again, err := Client(t.Context(), cfg)
		if err != nil || a.made.Load() != made || again.Current().Leaf.SerialNumber.Cmp(c.Current().Leaf.SerialNumber) != 0 {
			t.Errorf("a valid certificate is not used again: %v", err)
		}
		time.Sleep(2 * time.Hour) //nolint:forbidigo // the bubble's
		if _, err := Client(t.Context(), cfg); err != nil || a.made.Load() != made+1 {
			t.Errorf("an expired certificate: %v, %d requests", err, a.made.Load()-made)
		}
		cfg.BootstrapKubeconfig = ""
		time.Sleep(2 * time.Hour) //nolint:forbidigo // the bubble's
		if _, err := Client(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "was valid until") {
			t.Error(err)
		}
		if d := tracetest.Events[trace.Decision](rec); len(d) < 3 || d[0].Verdict != trace.VerdictBootstrap {
			t.Errorf("%+v", d)
		}
	})
}

// An outage longer than the certificate's lifetime ends with a new bootstrap.
func TestExpiredWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, rec := setup(t, a)
		c, err := Client(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		a.fail.Store(new(errors.New("connection refused")))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx, func() {}) }()
		time.Sleep(3 * time.Hour) //nolint:forbidigo // the bubble's
		var none error
		a.fail.Store(&none)
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's
		synctest.Wait()
		if !time.Now().Before(c.Current().Leaf.NotAfter) {
			t.Error("still expired")
		}
		if w := tracetest.Events[trace.Wait](rec); len(w) < 10 || !strings.Contains(w[0].Cause, "was not approved") && !strings.Contains(w[len(w)/2].Cause, "connection refused") {
			t.Errorf("waits %+v", w[:min(len(w), 3)])
		}
		cancel()
		<-done
	})
}

func TestBootstrapRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, _ := setup(t, a)
		a.fail.Store(new(error(apierrors.NewUnauthorized("no"))))
		if _, err := Client(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "does not accept the token in "+cfg.BootstrapKubeconfig) {
			t.Error(err)
		}
	})
}

func TestApprovalIsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, rec := setup(t, a)
		a.hold.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := Client(ctx, cfg)
		waits := rec.OfKind("pod.wait")
		if err == nil || len(waits) == 0 || waits[0].Event.(*trace.Wait).For != trace.WaitApproval || !strings.HasPrefix(waits[0].Event.(*trace.Wait).Target.Name, "node-csr-") {
			t.Errorf("%v %+v", err, waits)
		}
	})
}

func TestServingSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		var addresses atomic.Pointer[[]v1.NodeAddress]
		addresses.Store(&[]v1.NodeAddress{{Type: v1.NodeHostName, Address: "lab-1"}})
		s, err := NewServing(ServingConfig{
			Bootstrap: true, Dir: t.TempDir(), NodeName: "lab-1", Client: fakeapi.Of(a), Addresses: func() []v1.NodeAddress { return *addresses.Load() },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's
		if _, err := s.GetCertificate(nil); err == nil || a.made.Load() != 0 {
			t.Error("asked for a certificate before there is an address")
		}
		for i, ip := range []string{"10.0.0.5", "10.0.0.6"} {
			addresses.Store(&[]v1.NodeAddress{{Type: v1.NodeHostName, Address: "lab-1"}, {Type: v1.NodeInternalIP, Address: ip}})
			s.Changed()
			time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's
			c, err := s.GetCertificate(nil)
			if err != nil || c.Leaf.DNSNames[0] != "lab-1" || c.Leaf.IPAddresses[0].String() != ip || a.made.Load() != int64(i+1) {
				t.Fatalf("%+v %v", c, err)
			}
			s.Changed()
			synctest.Wait()
		}
		cancel()
		<-done
	})
}

// A certificate is requested for a node that has only names if the feature gate allows it.
func TestServingTemplate(t *testing.T) {
	name, ip := v1.NodeAddress{Type: v1.NodeHostName, Address: "lab-1"}, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "10.0.0.5"}
	for _, c := range []struct {
		addresses []v1.NodeAddress
		namesOnly bool
		want      bool
	}{
		{nil, true, false},
		{[]v1.NodeAddress{name}, false, false},
		{[]v1.NodeAddress{name}, true, true},
		{[]v1.NodeAddress{name, ip}, false, true},
		{[]v1.NodeAddress{ip}, true, true},
	} {
		if got := servingTemplate("lab-1", c.addresses, c.namesOnly); (got != nil) != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// A request for addresses that the node no longer has is not waited for: there is another one soon.
func TestServingAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		a.hold.Store(true)
		var ip atomic.Pointer[string]
		ip.Store(new("10.0.0.5"))
		s, err := NewServing(ServingConfig{
			Bootstrap: true, Dir: t.TempDir(), NodeName: "lab-1", Client: fakeapi.Of(a),
			Addresses: func() []v1.NodeAddress { return []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: *ip.Load()}} },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's
		s.Changed()             // to the same
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's
		if a.made.Load() != 1 {
			t.Errorf("%d requests, want 1", a.made.Load())
		}
		a.hold.Store(false)
		ip.Store(new("10.0.0.6"))
		s.Changed()
		time.Sleep(5 * time.Second) //nolint:forbidigo // the bubble's
		if c, err := s.GetCertificate(nil); err != nil || c.Leaf.IPAddresses[0].String() != "10.0.0.6" || a.made.Load() != 2 {
			t.Errorf("%v after %d requests", err, a.made.Load())
		}
		cancel()
		<-done
	})
}

// If the signer leaves out a name, the certificate is used, and another one is requested with pauses.
func TestSignerLeavesOutNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, 24*time.Hour)
		a.bare.Store(true)
		s, err := NewServing(ServingConfig{
			Bootstrap: true, Dir: t.TempDir(), NodeName: "lab-1", Client: fakeapi.Of(a),
			Addresses: func() []v1.NodeAddress {
				return []v1.NodeAddress{{Type: v1.NodeHostName, Address: "lab-1"}, {Type: v1.NodeInternalIP, Address: "10.0.0.5"}}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(10 * time.Minute) //nolint:forbidigo // the bubble's
		if n := a.made.Load(); n < 10 || n > 30 {
			t.Errorf("%d requests in 10 minutes", n)
		}
		if c, err := s.GetCertificate(nil); err != nil || len(c.Leaf.DNSNames) != 0 || len(c.Leaf.IPAddresses) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		a.bare.Store(false)
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's
		n := a.made.Load()
		time.Sleep(time.Hour) //nolint:forbidigo // the bubble's
		if c, err := s.GetCertificate(nil); err != nil || len(c.Leaf.DNSNames) != 1 || a.made.Load() != n {
			t.Errorf("with all names: %v, %d requests more", err, a.made.Load()-n)
		}
		cancel()
		<-done
	})
}

func TestServingFiles(t *testing.T) {
	dir, rec := t.TempDir(), tracetest.New(t)
	s, err := NewServing(ServingConfig{Dir: dir, Hostname: "lab-1", Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	leaf := func() *x509.Certificate {
		c, err := s.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf
	}
	first := leaf()
	if first.DNSNames[0] != "lab-1" {
		t.Errorf("%v", first.DNSNames)
	}
	again, err := NewServing(ServingConfig{Dir: dir, Hostname: "lab-1"})
	if c, _ := again.GetCertificate(nil); err != nil || !c.Leaf.Equal(first) {
		t.Errorf("not used again: %v", err)
	}
	certFile := filepath.Join(dir, "kubelet.crt")
	good, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certFile, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !leaf().Equal(first) {
			t.Error("the old pair is not kept")
		}
	}
	if len(tracetest.Events[trace.Log](rec)) != 1 {
		t.Error("a bad pair is not said once")
	}
	other := t.TempDir()
	if _, err := NewServing(ServingConfig{Dir: other, Hostname: "lab-2"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubelet.crt", "kubelet.key"} {
		text, err := os.ReadFile(filepath.Join(other, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if leaf().DNSNames[0] != "lab-2" || len(good) == 0 {
		t.Error("the new pair is not used")
	}
	if _, err := NewServing(ServingConfig{CertFile: "x"}); err == nil {
		t.Error("half a pair is taken")
	}
}
