package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func TestCurves(t *testing.T) {
	for _, c := range []struct {
		numbers []int32
		want    []tls.CurveID
		err     string
	}{
		{nil, nil, ""},
		{[]int32{29, 4588}, []tls.CurveID{tls.X25519, tls.X25519MLKEM768}, ""},
		{[]int32{23, 23}, nil, "tlsCurvePreferences: 23 (CurveP256) is there twice"},
		{[]int32{0}, nil, "tlsCurvePreferences: 0 is not supported"},
		{[]int32{-29}, nil, "tlsCurvePreferences: -29 is not supported"},
		{[]int32{29 + 1<<16}, nil, "tlsCurvePreferences: 65565 is not supported: must be a CurveID in crypto/tls, such as 29 (X25519)"},
	} {
		got, err := curves(c.numbers)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v, %v", c.numbers, got, err)
		}
	}
}

// Cipher suites have Go's names, and two the older ones of Kubernetes. The server warns about insecure ones and those without effect.
func TestCipherSuites(t *testing.T) {
	for _, c := range []struct {
		name     string
		version  string
		suites   []string
		want     []uint16
		err      string
		warnings []string
	}{
		{name: "defaults"},
		{name: "by Go's name", suites: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, want: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}},
		{
			name: "older names", suites: []string{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"},
			want: []uint16{tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256},
		},
		{name: "unknown", suites: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM"}, err: `tlsCipherSuites: "TLS_ECDHE_RSA_WITH_AES_128_GCM" is unknown`},
		{
			name: "insecure", suites: []string{"TLS_RSA_WITH_RC4_128_SHA", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
			want:     []uint16{tls.TLS_RSA_WITH_RC4_128_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
			warnings: []string{"Use of insecure cipher detected. [{cipher TLS_RSA_WITH_RC4_128_SHA}]"},
		},
		{
			name: "TLS 1.3", version: "VersionTLS13", suites: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, want: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
			warnings: []string{"TLS 1.3 cipher suites are not configurable, ignoring --tls-cipher-suites []"},
		},
		{name: "TLS 1.3 with the defaults", version: "VersionTLS13"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := tracetest.New(t)
			s, err := New(Config{
				Pods: func() []v1.Pod { return nil }, Pod: func(string, string) *v1.Pod { return nil }, Bus: rec.Bus(),
				Port: 1, Auth: fakeAuth{}, Observed: observed{}, Runtime: &streamed{},
				TLS: TLS{GetCertificate: certificate(t), MinVersion: c.version, CipherSuites: c.suites},
			})
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !slices.Equal(s.tls.CipherSuites, c.want) {
				t.Fatalf("%v, %v, want %v", s, err, c.want)
			}
			var warnings []string
			for _, l := range tracetest.Events[trace.Log](rec) {
				warnings = append(warnings, fmt.Sprint(l.Message, " ", l.Attrs))
			}
			if !slices.Equal(warnings, c.warnings) {
				t.Errorf("warnings %q, want %q", warnings, c.warnings)
			}
		})
	}
}

// The server names its client CAs, and requests no certificate without them.
func TestClientCAs(t *testing.T) {
	made, err := certificate(t)(nil)
	if err != nil {
		t.Fatal(err)
	}
	known, err := x509.ParseCertificate(made.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(known)
	for name, cas := range map[string]*x509.CertPool{"none": nil, "one": pool} {
		t.Run(name, func(t *testing.T) {
			w := start(t, func(c *Config) { c.Auth = fakeAuth{cas: cas} })
			requested := false
			conn, err := tls.Dial("tcp", w.ports()["https"], &tls.Config{ //nolint:noctx // a test
				InsecureSkipVerify: true,
				GetClientCertificate: func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
					requested = true
					if len(info.AcceptableCAs) != 1 || !bytes.Equal(info.AcceptableCAs[0], known.RawSubject) {
						t.Errorf("acceptable CAs: %q", info.AcceptableCAs)
					}
					return new(tls.Certificate), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			if requested != (cas != nil) {
				t.Errorf("a certificate is requested: %v", requested)
			}
		})
	}
}
