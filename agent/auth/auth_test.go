package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

type tokens struct {
	n   int
	err error
}

func (t *tokens) Create(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	t.n++
	if t.err != nil {
		return nil, t.err
	}
	out := r.DeepCopy()
	switch r.Spec.Token {
	case "good":
		out.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "ann", Groups: []string{"dev"}}}
	case "odd":
		out.Status.Error = "it is odd"
	}
	return out, nil
}

type access struct {
	n    int
	last authorizationv1.SubjectAccessReviewSpec
	err  error
}

func (a *access) Create(_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	a.n++
	a.last = r.Spec
	if a.err != nil && a.n < 3 {
		return nil, a.err
	}
	out := r.DeepCopy()
	out.Status.Allowed = r.Spec.User == "ann" || r.Spec.User == "both"
	out.Status.Denied = r.Spec.User == "both"
	return out, nil
}

func request(header, value string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/pods", nil)
	if header != "" {
		r.Header.Set(header, value)
	}
	return r
}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &tokens{}
		a, err := New(Config{Tokens: reviews, TokenTTL: 2 * time.Minute, AlwaysAllow: true})
		if err != nil {
			t.Fatal(err)
		}
		r := request("Authorization", "Bearer good")
		u, err := a.Authenticate(r)
		if err != nil || u == nil || u.Name != "ann" || u.How != trace.CredentialToken || !slices.Equal(u.Groups, []string{"dev", "system:authenticated"}) {
			t.Fatalf("%+v, %v", u, err)
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("the token goes on")
		}
		time.Sleep(time.Minute)
		_, _ = a.Authenticate(request("Authorization", "Bearer good"))
		if reviews.n != 1 {
			t.Errorf("%d reviews within the TTL", reviews.n)
		}
		time.Sleep(time.Minute + time.Millisecond)
		_, _ = a.Authenticate(request("Authorization", "Bearer good"))
		if reviews.n != 2 {
			t.Errorf("%d reviews after the TTL", reviews.n)
		}
		for range 2 { // the second verdict is a cached one
			if u, err := a.Authenticate(request("Authorization", "Bearer bad")); u != nil || !errors.Is(err, errUnknownToken) {
				t.Errorf("%+v, %v", u, err)
			}
		}
		if u, err := a.Authenticate(request("Authorization", "Bearer odd")); u != nil || err == nil {
			t.Errorf("%+v, %v", u, err)
		}
		if u, err := a.Authenticate(request("", "")); u != nil || err != nil {
			t.Errorf("anonymous: %+v, %v", u, err)
		}
		ws := request("Upgrade", "websocket")
		ws.Header.Set("Sec-WebSocket-Protocol", "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io."+base64.RawURLEncoding.EncodeToString([]byte("good")))
		if u, err := a.Authenticate(ws); err != nil || u == nil || ws.Header.Get("Sec-WebSocket-Protocol") != "v5.channel.k8s.io" {
			t.Errorf("%+v, %v, %v", u, err, ws.Header)
		}
	})
}

// A token among the protocols of a WebSocket must be a single valid one, beside a protocol for the negotiation.
func TestTokensOfWebSockets(t *testing.T) {
	protocol := func(token string) string {
		return "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
	}
	a, err := New(Config{Tokens: &tokens{}, Anonymous: true, AlwaysAllow: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, protocols, user, err string
	}{
		{"good", "v5.channel.k8s.io, " + protocol("good"), "ann", ""},
		{"none", "v5.channel.k8s.io", "system:anonymous", ""},
		{"empty", "v5.channel.k8s.io," + protocol(""), "system:anonymous", ""},
		{"unknown", "v5.channel.k8s.io," + protocol("bad"), "", "invalid bearer token"},
		{"two", protocol("good") + ",v5.channel.k8s.io," + protocol("good"), "", "multiple base64.bearer.authorization tokens specified"},
		{"no base64", "v5.channel.k8s.io," + protocol("good") + "=", "", "invalid base64.bearer.authorization token encoding"},
		{"no UTF-8", "v5.channel.k8s.io," + protocol("\xff"), "", "invalid base64.bearer.authorization token"},
		{"alone", protocol("good"), "", "missing additional subprotocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request("Upgrade", "websocket")
			r.Header.Set("Sec-WebSocket-Protocol", c.protocols)
			u, err := a.Authenticate(r)
			if c.err != "" {
				if u != nil || err == nil || err.Error() != c.err {
					t.Errorf("%+v, %v, want error %q", u, err, c.err)
				}
				return
			}
			if err != nil || u == nil || u.Name != c.user {
				t.Errorf("%+v, %v, want %s", u, err, c.user)
			}
		})
	}
}

func TestAnonymous(t *testing.T) {
	reviews := &tokens{err: errors.New("no")}
	a, err := New(Config{Tokens: reviews, Anonymous: true, AlwaysAllow: true})
	if err != nil {
		t.Fatal(err)
	}
	if u, err := a.Authenticate(request("", "")); err != nil || u == nil || u.Name != "system:anonymous" || u.How != trace.CredentialAnonymous {
		t.Errorf("%+v, %v", u, err)
	}
	if u, err := a.Authenticate(request("Authorization", "Bearer x")); u != nil || err == nil {
		t.Errorf("who shows what cannot be reviewed is %+v, %v", u, err)
	}
	reviews.err = nil
	if u, err := a.Authenticate(request("Authorization", "Bearer bad")); u != nil || !errors.Is(err, errUnknownToken) {
		t.Errorf("who shows an unknown token is %+v, %v", u, err)
	}
	without, err := New(Config{Anonymous: true, AlwaysAllow: true})
	if err != nil {
		t.Fatal(err)
	}
	if u, err := without.Authenticate(request("Authorization", "Bearer bad")); err != nil || u == nil || u.Name != "system:anonymous" {
		t.Errorf("without reviews of tokens: %+v, %v", u, err)
	}
}

func TestAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &access{err: apierrors.NewInternalError(errors.New("later"))}
		a, err := New(Config{Node: "n1", Access: reviews, AllowedTTL: 5 * time.Minute, DeniedTTL: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(name string, want bool, n int) {
			t.Helper()
			ok, _, err := a.Authorize(t.Context(), &User{Name: name, Groups: []string{"g"}}, "get", "proxy")
			if err != nil || ok != want || reviews.n != n {
				t.Errorf("%s: %v, %v after %d reviews, want %v after %d", name, ok, err, reviews.n, want, n)
			}
		}
		ask("ann", true, 3) // the third attempt succeeds
		at := reviews.last.ResourceAttributes
		if at.Verb != "get" || at.Resource != "nodes" || at.Subresource != "proxy" || at.Name != "n1" || at.Version != "v1" {
			t.Errorf("asked for %+v", at)
		}
		ask("bob", false, 4)
		time.Sleep(time.Minute)
		ask("ann", true, 4)
		ask("bob", false, 5)
		time.Sleep(5 * time.Minute)
		ask("ann", true, 6)
		if ok, _, err := a.Authorize(t.Context(), &User{Name: "both"}, "get", "proxy"); ok || !errors.Is(err, errContradiction) {
			t.Errorf("allowed and denied: %v, %v", ok, err)
		}
	})
	if _, err := New(Config{}); err == nil {
		t.Error("authorization without anybody to ask is accepted")
	}
}

func TestSubresources(t *testing.T) {
	for path, want := range map[string]string{
		"/stats/summary": "stats", "/metrics": "metrics", "/metrics/cadvisor": "metrics", "/logs/": "log", "/logs/x": "log",
		"/checkpoint/a/b/c": "checkpoint", "/statusz": "statusz", "/flagz": "configz", "/pods": "pods proxy", "/pods/": "pods proxy",
		"/runningpods/": "pods proxy", "/healthz": "healthz proxy", "/healthz/ping": "healthz proxy", "/configz": "configz proxy",
		"/exec/a/b/c": "proxy", "/podsx": "proxy", "/metricsx": "proxy", "/": "proxy",
	} {
		if got := strings.Join(Subresources(path), " "); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestCertificates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	one, two := newCA(t), newCA(t)
	one.write(t, file)
	a, err := New(Config{ClientCAFile: file, AlwaysAllow: true})
	if err != nil {
		t.Fatal(err)
	}
	with := func(c *x509.Certificate) *http.Request {
		r := request("", "")
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}}
		return r
	}
	u, err := a.Authenticate(with(one.issue(t, "kube-apiserver", x509.ExtKeyUsageClientAuth)))
	if err != nil || u == nil || u.Name != "kube-apiserver" || !slices.Equal(u.Groups, []string{"admins", "system:authenticated"}) || u.Extra[credentialID] == nil {
		t.Errorf("%+v, %v", u, err)
	}
	if u, err := a.Authenticate(with(one.issue(t, "", x509.ExtKeyUsageClientAuth))); u != nil || err != nil {
		t.Errorf("without a name: %+v, %v", u, err)
	}
	if u, err := a.Authenticate(with(one.issue(t, "x", x509.ExtKeyUsageServerAuth))); u != nil || err == nil {
		t.Errorf("a server's: %+v, %v", u, err)
	}
	other := two.issue(t, "x", x509.ExtKeyUsageClientAuth)
	if u, err := a.Authenticate(with(other)); u != nil || err == nil {
		t.Errorf("of another CA: %+v, %v", u, err)
	}
	if err := os.WriteFile(file, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if u, err := a.Authenticate(with(one.issue(t, "x", x509.ExtKeyUsageClientAuth))); u == nil || err != nil {
		t.Errorf("the last good CA is not kept: %+v, %v", u, err)
	}
	if !a.ClientCAs().Equal(one.pool()) {
		t.Error("clients do not see the last good CA")
	}
	two.write(t, file)
	if u, err := a.Authenticate(with(other)); u == nil || err != nil {
		t.Errorf("after the CA changed: %+v, %v", u, err)
	}
	if !a.ClientCAs().Equal(two.pool()) {
		t.Error("clients do not see the CA after it changed")
	}
	if without, err := New(Config{AlwaysAllow: true}); err != nil || without.ClientCAs() != nil {
		t.Errorf("without a file: %v", err)
	}
	if _, err := New(Config{ClientCAFile: file + ".not", AlwaysAllow: true}); err == nil {
		t.Error("a missing CA file is accepted")
	}
}

// A certificate has one UID that is not empty, or none.
func TestUsersOfCertificates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	one := newCA(t)
	one.write(t, file)
	a, err := New(Config{ClientCAFile: file, AlwaysAllow: true})
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"admins", allAuthenticated}
	for _, c := range []struct {
		name          string
		organizations []string
		uids          []string
		groups        []string
		uid, err      string
	}{
		{"no UID", []string{"admins"}, nil, both, "", ""},
		{"a UID", []string{"admins"}, []string{"u1"}, both, "u1", ""},
		{"two UIDs", []string{"admins"}, []string{"u1", "u2"}, nil, "", "expected 1 UID, but found multiple: 2"},
		{"an empty UID", []string{"admins"}, []string{""}, nil, "", "UID cannot be an empty string"},
		{"already authenticated", both, nil, both, "", ""},
		{"unauthenticated", []string{allUnauthenticated}, nil, []string{allUnauthenticated}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			subject := pkix.Name{CommonName: "ann", Organization: c.organizations}
			for _, uid := range c.uids {
				subject.ExtraNames = append(subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: uid})
			}
			r := request("", "")
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{one.sign(t, subject, x509.ExtKeyUsageClientAuth)}}
			u, err := a.Authenticate(r)
			if c.err != "" {
				if u != nil || err == nil || !strings.HasSuffix(err.Error(), c.err) {
					t.Errorf("%+v, %v, want error %q", u, err, c.err)
				}
				return
			}
			if err != nil || u == nil || u.UID != c.uid || !slices.Equal(u.Groups, c.groups) {
				t.Errorf("%+v, %v, want UID %q and groups %q", u, err, c.uid, c.groups)
			}
		})
	}
}

type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return ca{cert, key}
}

func (c ca) write(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file+".new", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func (c ca) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.cert)
	return pool
}

func (c ca) issue(t *testing.T, name string, usage x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	return c.sign(t, pkix.Name{CommonName: name, Organization: []string{"admins"}}, usage)
}

func (c ca) sign(t *testing.T, subject pkix.Name, usage x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: subject,
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, &c.key.PublicKey, c.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
