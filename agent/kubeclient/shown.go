package kubeclient

import (
	"bytes"
	"crypto/tls"
	"sync/atomic"
)

// shown remembers which certificate the server was last shown.
type shown struct {
	current func() *tls.Certificate
	last    atomic.Pointer[tls.Certificate]
}

// get implements tls.Config.GetClientCertificate. Without a certificate the handshake continues: the server refuses then.
func (s *shown) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	cert := s.current()
	if cert == nil {
		cert = &tls.Certificate{}
	}
	s.last.Store(cert)
	return cert, nil
}

// outdated says whether another certificate is to be had than the last that was shown.
func (s *shown) outdated() bool {
	last := s.last.Load()
	if s.current == nil || last == nil {
		return false
	}
	now := s.current()
	return now != nil && (len(last.Certificate) == 0 || !bytes.Equal(now.Certificate[0], last.Certificate[0]))
}

// fromFiles reads the pair at each handshake, so that one that was replaced is used. A pair that cannot be read is none.
func fromFiles(certFile, keyFile string) func() *tls.Certificate {
	return func() *tls.Certificate {
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil
		}
		return &cert
	}
}
