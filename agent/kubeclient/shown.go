package kubeclient

import (
	"bytes"
	"crypto/tls"
	"sync/atomic"
)

// shown has the certificate that was last sent to the server.
type shown struct {
	current func() *tls.Certificate
	last    atomic.Pointer[tls.Certificate]
}

// get implements tls.Config.GetClientCertificate. Without a certificate the handshake continues, and the server
// refuses.
func (s *shown) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	cert := s.current()
	if cert == nil {
		cert = &tls.Certificate{}
	}
	s.last.Store(cert)
	return cert, nil
}

// outdated reports whether there is a newer certificate than the last one sent.
func (s *shown) outdated() bool {
	last := s.last.Load()
	if s.current == nil || last == nil {
		return false
	}
	now := s.current()
	return now != nil && (len(last.Certificate) == 0 || !bytes.Equal(now.Certificate[0], last.Certificate[0]))
}

// fromFiles reads the pair at each handshake, so that a replaced one is used. A pair that cannot be read counts as
// none.
func fromFiles(certFile, keyFile string) func() *tls.Certificate {
	return func() *tls.Certificate {
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil
		}
		return &cert
	}
}
