package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
)

// TLS is the TLS configuration of the authenticated port.
type TLS struct {
	// GetCertificate returns the serving certificate in use.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// MinVersion is tlsMinVersion, such as VersionTLS12, which is also the meaning of "".
	MinVersion string
	// CipherSuites are tlsCipherSuites; none means Go's defaults.
	CipherSuites []string
}

// config builds the TLS configuration. Clients' certificates are requested and verified per request, so that a client
// may have none, or a token.
func (t TLS) config() (*tls.Config, error) {
	if t.GetCertificate == nil {
		return nil, errors.New("server: Config.TLS.GetCertificate is missing")
	}
	c := &tls.Config{GetCertificate: t.GetCertificate, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
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
	known := append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
	for _, name := range t.CipherSuites {
		i := slices.IndexFunc(known, func(s *tls.CipherSuite) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("tlsCipherSuites: %q is unknown: must be a name in crypto/tls, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", name)
		}
		c.CipherSuites = append(c.CipherSuites, known[i].ID)
	}
	return c, nil
}

// certified tells the connection whether the client's certificate is known, before any request is read.
func certified(c *tls.Config, a Auth) *tls.Config {
	out := c.Clone()
	out.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		conn := connOf(hello.Conn)
		if conn == nil {
			return nil, nil
		}
		own := c.Clone()
		own.VerifyConnection = func(state tls.ConnectionState) error {
			if a.Certified(state.PeerCertificates) {
				conn.Certify()
			}
			return nil
		}
		return own, nil
	}
	return out
}
