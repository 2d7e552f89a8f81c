package kubeclient

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		method, url string
		want        trace.APICall
	}{
		{"GET", "/api/v1/namespaces/shop/pods/cart", trace.APICall{Verb: "get", Resource: "pods", Namespace: "shop", Name: "cart"}},
		{"PATCH", "/api/v1/namespaces/shop/pods/cart/status", trace.APICall{Verb: "patch", Resource: "pods/status", Namespace: "shop", Name: "cart"}},
		{"POST", "/api/v1/namespaces/shop/serviceaccounts/me/token", trace.APICall{Verb: "create", Resource: "serviceaccounts/token", Namespace: "shop", Name: "me"}},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", trace.APICall{Verb: "update", Resource: "leases", Namespace: "kube-node-lease", Name: "n"}},
		{"GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn&watch=true", trace.APICall{Verb: "watch", Resource: "nodes", Name: "n"}},
		{"GET", "/proxy/api/v1/namespaces", trace.APICall{Verb: "list", Resource: "namespaces"}},
		{"GET", "/api/v1/namespaces/shop", trace.APICall{Verb: "get", Resource: "namespaces", Name: "shop"}},
		{"DELETE", "/api/v1/namespaces/shop/pods", trace.APICall{Verb: trace.APIDeleteCollection, Resource: "pods", Namespace: "shop"}},
		{"GET", "/healthz", trace.APICall{Verb: "get", Resource: "/healthz"}},
	} {
		if diff := cmp.Diff(c.want, describe("", httptest.NewRequest(c.method, c.url, nil))); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.method, c.url, diff)
		}
	}
}

type answers func(*http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(code int, header ...string) *http.Response {
	r := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func roundTrip(rt http.RoundTripper, req *http.Request) (int, http.Header, error) {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, resp.Header, resp.Body.Close()
}

// Requests to an overloaded server are repeated when it says, with the whole body, and each attempt and wait is
// published.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		var bodies []string
		rt := Wrap(rec.Bus(), "main")(answers(func(r *http.Request) (*http.Response, error) {
			b, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(b))
			if r.Header.Get("Traceparent") == "" {
				t.Error("no traceparent")
			}
			if len(bodies) < 3 {
				return answer(429, "Retry-After", "2"), nil
			}
			return answer(201), nil
		}))
		start := time.Now()
		req, _ := http.NewRequest(http.MethodPost, "http://x/api/v1/namespaces/a/pods", bytes.NewReader([]byte("body")))
		code, _, err := roundTrip(rt, req)
		if err != nil || code != 201 {
			t.Fatal(code, err)
		}
		if d := time.Since(start); d < 4*time.Second || d > 4400*time.Millisecond {
			t.Errorf("took %s, want 4 s and up to a tenth", d)
		}
		if diff := cmp.Diff([]string{"body", "body", "body"}, bodies); diff != "" {
			t.Error(diff)
		}
		var codes, attempts []int
		for _, r := range rec.OfKind("api.call") {
			if e := r.Event.(*trace.APICall); r.Edge == trace.EdgeEnd {
				codes, attempts = append(codes, e.Code), append(attempts, e.Attempt)
			}
		}
		if !cmp.Equal(codes, []int{429, 429, 201}) || !cmp.Equal(attempts, []int{0, 2, 3}) {
			t.Errorf("calls %v, attempts %v", codes, attempts)
		}
		if w := tracetest.Events[trace.Wait](rec); len(w) != 4 || w[0].For != trace.WaitBackoff {
			t.Errorf("waits %+v", w)
		}
	})
}

func TestRetryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		rt := Wrap(nil, "main")(answers(func(*http.Request) (*http.Response, error) {
			n++
			return answer(503, "Retry-After", "1"), nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://x/api/v1/nodes/n", nil)
		if _, _, err := roundTrip(rt, req); err == nil || n != 2 {
			t.Errorf("a context that ended: %v after %d", err, n)
		}
		n = 0
		code, header, err := roundTrip(rt, req.WithContext(t.Context()))
		if err != nil || n != maxAttempts || header.Get("Retry-After") != "" {
			t.Errorf("%d %v after %d", code, err, n)
		}
	})
}

func TestThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		l := newLimiter(rec.Bus(), "main", 10, 2)
		span := trace.Begin(rec.Bus(), trace.Span{}, trace.Loop{})
		ctx := trace.ContextWith(t.Context(), span)
		for range 3 {
			if err := l.Wait(ctx); err != nil {
				t.Fatal(err)
			}
		}
		waits := rec.OfKind("pod.wait")
		if len(waits) != 2 || waits[1].Dur == 0 || waits[0].Parent != span.ID || waits[0].Event.(*trace.Wait).For != trace.WaitTokens {
			t.Errorf("waits %+v", waits)
		}
	})
}

func TestClients(t *testing.T) {
	rec := tracetest.New(t)
	var conns atomic.Int32
	deny := atomic.Bool{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if deny.Swap(false) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"`+r.TLS.PeerCertificates[0].Subject.CommonName+`"}}`)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()

	var current atomic.Pointer[tls.Certificate]
	current.Store(pair(t, "one", time.Hour))
	c, err := New(Config{
		REST: &rest.Config{
			Host:            strings.TrimPrefix(server.URL, "https://"), // no scheme
			TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
		},
		Certificate: current.Load, QPS: 50, Burst: 100, LeaseDuration: 10 * time.Second, Bus: rec.Bus(),
	})
	if err != nil {
		t.Fatal(err)
	}
	who := func() string {
		n, err := c.Main.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return n.Name
	}
	for _, client := range []kubeapi.Interface{c.Events, c.Heartbeat} {
		if _, err := client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := who(); got != "one" || conns.Load() != 1 {
		t.Errorf("%s over %d connections, want one that all share", got, conns.Load())
	}
	current.Store(pair(t, "two", time.Hour))
	c.CloseConnections()
	if got := who(); got != "two" {
		t.Errorf("after rotation the server sees %s", got)
	}
	current.Store(pair(t, "three", time.Hour))
	deny.Store(true) // the old one is rejected
	_ = who()
	if got := who(); got != "three" {
		t.Errorf("after a refusal the server sees %s", got)
	}
	var names []string
	for _, r := range rec.OfKind("api.call") {
		if r.Edge == trace.EdgeBegin {
			names = append(names, string(r.Event.(*trace.APICall).Client))
		}
	}
	if !cmp.Equal(names[:3], []string{"events", "heartbeat", "main"}) {
		t.Errorf("clients %v", names)
	}

	server.Close()
	if got := who(); !strings.Contains(got, "the API server does not listen") {
		t.Errorf("unreachable: %s", got)
	}
}

func TestLoadAndExpired(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("}{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	cert := pair(t, "system:node:n", -time.Hour)
	cfg := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})}}
	if err := Expired(cfg, time.Now()); err == nil || !strings.Contains(err.Error(), "system:node:n was valid until") {
		t.Error(err)
	}
	if err := Expired(cfg, time.Now().Add(-90*time.Minute)); err != nil {
		t.Error(err)
	}
}

// pair returns a self-signed certificate that expires after ttl.
func pair(t *testing.T, name string, ttl time.Duration) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(ttl), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
