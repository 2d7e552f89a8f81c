package collector

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kubeloupe/kubeloupe/inspect/ship"
)

// trusting returns the configuration of a client that trusts the CA in a file, as it is then, and shows a certificate if it has one.
func trusting(ca string, own TLS) ship.Secure {
	return func() (*tls.Config, error) {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		c.RootCAs.AppendCertsFromPEM(text)
		if own.Cert != "" {
			pair, err := tls.LoadX509KeyPair(own.Cert, own.Key)
			if err != nil {
				return nil, err
			}
			c.Certificates = []tls.Certificate{pair}
		}
		return c, nil
	}
}

// upload sends one span.
func upload(t *testing.T, c *ship.Client) ship.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return c.Upload(ctx, []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
		TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"), Name: "one",
	}}}}}})
}

// until sends one span again and again until the outcome is as it should be, for a minute: a handshake takes long on a machine that is busy, and
// a client whose Collector was away connects again when its back-off is over.
func until(t *testing.T, c *ship.Client, ok func(*ship.Outcome) bool) (out ship.Outcome) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		if out = upload(t, c); ok(&out) || time.Now().After(end) {
			return out
		}
	}
}

func sent(out *ship.Outcome) bool { return out.Err == nil }

// TestTLS sends to a Collector with TLS that wants certificates of clients: with the right CA and certificate, with others, and without TLS. Then the
// Collector gets a certificate of another CA: the client that reads the new one goes on.
func TestTLS(t *testing.T) {
	c := newCollector(t)
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ca, err := NewCA(dir, "ca")
	must(err)
	other, err := NewCA(dir, "other")
	must(err)
	c.TLS, err = ca.Issue("collector")
	must(err)
	c.ClientCA = ca.File
	own, err := ca.Issue("node")
	must(err)
	foreign, err := other.Issue("foreign")
	must(err)
	end := start(t, c)
	dial := func(secure ship.Secure) *ship.Client {
		client, err := ship.Dial(t.Context(), c.Addr, secure)
		must(err)
		t.Cleanup(func() { _ = client.Close(context.Background()) })
		return client
	}
	for name, x := range map[string]struct {
		secure ship.Secure
		want   string
	}{
		"right":                 {trusting(ca.File, own), ""},
		"another CA":            {trusting(other.File, own), "certificate signed by unknown authority"},
		"no certificate":        {trusting(ca.File, TLS{}), "Unavailable"},
		"another's certificate": {trusting(ca.File, foreign), "Unavailable"},
		"without TLS":           {nil, "Unavailable"},
	} {
		switch out := until(t, dial(x.secure), func(out *ship.Outcome) bool {
			return sent(out) || x.want != "" && strings.Contains(out.Err.Error(), x.want)
		}); {
		case x.want == "" && out.Err != nil:
			t.Errorf("%s: %v", name, out.Err)
		case x.want != "" && (out.Err == nil || !out.Retry || !strings.Contains(out.Err.Error(), x.want)):
			t.Errorf("%s: %+v, want %q and another try", name, out, x.want)
		}
	}

	trusted := dir + "/trusted.pem"
	text, err := os.ReadFile(ca.File)
	must(err)
	must(os.WriteFile(trusted, text, 0o600))
	client := dial(trusting(trusted, own))
	if out := until(t, client, sent); out.Err != nil {
		t.Fatal(out.Err)
	}
	end()
	c.TLS, err = other.Issue("collector-2")
	must(err)
	start(t, c)
	text, err = os.ReadFile(other.File)
	must(err)
	must(os.WriteFile(trusted, text, 0o600))
	if out := until(t, client, sent); out.Err != nil {
		t.Errorf("with the new certificate and its CA: %v", out.Err)
	}
}
