package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// served is the certificate that the node shows on its port, nil while there is none that the cluster's authority signed.
func (b *bench) served(t *testing.T, port string) *x509.Certificate {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(read(t, b.CAFile)))
	d := tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: b.NodeIP, MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(b.NodeIP, port))
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// TestServingRotation has a serving certificate that is old: it is shown until the new one is approved, and then the new one is, by the
// same agent.
func TestServingRotation(t *testing.T) {
	b := setup(t)
	b.alone(t)
	var port string
	config, err := b.WriteKubeletConfig("serving", func(c map[string]any) {
		lab.ServingBootstrap(c)
		port = fmt.Sprint(c["port"])
	})
	if err != nil {
		t.Fatal(err)
	}
	approve := func() (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = b.ApproveServing(ctx) })
		return func() { cancel(); wg.Wait() }
	}
	shown := func(what string, ok func(*x509.Certificate) bool) (c *x509.Certificate) {
		t.Helper()
		eventually(t, what, func() string {
			if c = b.served(t, port); c == nil {
				return "none is shown"
			}
			if !ok(c) {
				return "another is shown"
			}
			return ""
		})
		return c
	}
	cfg := lab.AgentConfig{State: "serving", KubeletConfig: config}
	a := b.start(t, cfg)
	end := approve()
	first := shown("the first certificate", func(*x509.Certificate) bool { return true })
	end()
	a.stop()

	path := b.nodePath("serving", "pki", "kubelet-server-current.pem")
	old := b.signed(t, &x509.Certificate{
		Subject: first.Subject, IPAddresses: first.IPAddresses, DNSNames: first.DNSNames, ExtKeyUsage: first.ExtKeyUsage,
		NotBefore: time.Now().Add(-30 * 24 * time.Hour), NotAfter: time.Now().Add(time.Hour),
	})
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	a = b.start(t, cfg)
	shown("the old certificate", parse(t, old).Equal)
	a.record("a verdict", func(r *trace.Record) bool {
		return decision("certs", "renew")(r) && r.Event.(*trace.Decision).Subject == "serving certificate"
	})
	defer approve()()
	now := shown("a new certificate", func(c *x509.Certificate) bool { return !c.Equal(parse(t, old)) })
	if now.Equal(first) || time.Until(now.NotAfter) < 24*time.Hour || !a.Alive() {
		t.Errorf("%s until %s", now.Subject, now.NotAfter)
	}
	if onDisk, err := os.ReadFile(path); err != nil || !parse(t, onDisk).Equal(now) {
		t.Errorf("another one is kept, %v", err)
	}
}
