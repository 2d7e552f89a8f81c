package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"testing"
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
