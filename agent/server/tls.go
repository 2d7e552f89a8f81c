package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TLS is the TLS configuration of the authenticated port.
type TLS struct {
	// GetCertificate returns the serving certificate in use.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// MinVersion is tlsMinVersion, such as VersionTLS12, which is also the meaning of "".
	MinVersion string
	// CipherSuites are tlsCipherSuites; none means Go's defaults.
	CipherSuites []string
	// Curves are tlsCurvePreferences, as crypto/tls numbers them; none means Go's defaults.
	Curves []int32
}

// config builds the TLS configuration, which does not request clients' certificates yet; see certified.
func (t TLS) config() (*tls.Config, error) {
	if t.GetCertificate == nil {
		return nil, errors.New("server: Config.TLS.GetCertificate is missing")
	}
	c := &tls.Config{GetCertificate: t.GetCertificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	switch t.MinVersion {
	case "", "VersionTLS12":
	case "VersionTLS10":
		c.MinVersion = tls.VersionTLS10
	case "VersionTLS11":
		c.MinVersion = tls.VersionTLS11
	case "VersionTLS13":
		c.MinVersion = tls.VersionTLS13
	default:
		return nil, fmt.Errorf("tlsMinVersion: %q is unknown: must be VersionTLS10 to VersionTLS13", t.MinVersion)
	}
	var err error
	if c.CipherSuites, err = suites(t.CipherSuites); err != nil {
		return nil, err
	}
	c.CurvePreferences, err = curves(t.Curves)
	return c, err
}

// suites returns cipher suites by their names in crypto/tls. Two also have the names that they had in Kubernetes before.
//
// Upstream: component-base/cli/flag/ciphersuites_flag.go.
func suites(names []string) ([]uint16, error) {
	known := append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
	var out []uint16
	for _, name := range names {
		current := name
		switch name {
		case "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305":
			current += "_SHA256"
		}
		i := slices.IndexFunc(known, func(s *tls.CipherSuite) bool { return s.Name == current })
		if i < 0 {
			return nil, fmt.Errorf("tlsCipherSuites: %q is unknown: must be a name in crypto/tls, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", name)
		}
		out = append(out, known[i].ID)
	}
	return out, nil
}

// warnings are about cipher suites that are insecure, or have no effect.
//
// Upstream: cmd/kubelet/app/server.go, InitializeTLS.
func (t TLS) warnings() []trace.Log {
	var out []trace.Log
	for _, s := range tls.InsecureCipherSuites() {
		if slices.Contains(t.CipherSuites, s.Name) {
			out = append(out, trace.Log{Level: trace.LevelWarn, Message: "Use of insecure cipher detected.", Attrs: []trace.KV{{K: "cipher", V: s.Name}}})
		}
	}
	if t.MinVersion == "VersionTLS13" && len(t.CipherSuites) > 0 {
		out = append(out, trace.Log{Level: trace.LevelWarn, Message: "TLS 1.3 cipher suites are not configurable, ignoring --tls-cipher-suites"})
	}
	return out
}

// curves returns key exchanges by their numbers. Unknown numbers, and a number that appears twice, are errors.
//
// Upstream: component-base/cli/flag/curves_flag.go, TLSCurvePreferences.
func curves(numbers []int32) ([]tls.CurveID, error) {
	var out []tls.CurveID
	for _, n := range numbers {
		id := tls.CurveID(n)
		switch {
		case n < 1 || n > math.MaxUint16 || strings.HasPrefix(id.String(), "CurveID("):
			return nil, fmt.Errorf("tlsCurvePreferences: %d is not supported: must be a CurveID in crypto/tls, such as %d (%s)", n, tls.X25519, tls.X25519)
		case slices.Contains(out, id):
			return nil, fmt.Errorf("tlsCurvePreferences: %d (%s) is there twice", n, id)
		}
		out = append(out, id)
	}
	return out, nil
}

// certified requests clients' certificates if there are client CAs, and names these, so that a client with several certificates can choose.
// They are verified per request: a client may have none, or a token. certified tells the connection whether the certificate is known,
// before any request is read.
//
// Upstream: pkg/kubelet/kubelet.go, NewMainKubelet; k8s.io/apiserver/pkg/server/dynamiccertificates/tlsconfig.go.
func certified(c *tls.Config, a Auth) *tls.Config {
	out := c.Clone()
	out.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		own := c.Clone()
		if own.ClientCAs = a.ClientCAs(); own.ClientCAs != nil {
			own.ClientAuth = tls.RequestClientCert
		}
		if conn := connOf(hello.Conn); conn != nil {
			own.VerifyConnection = func(state tls.ConnectionState) error {
				if a.Certified(state.PeerCertificates) {
					conn.Certify()
				}
				return nil
			}
		}
		return own, nil
	}
	return out
}
