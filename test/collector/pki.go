package collector

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// CA signs certificates of Collectors and their clients. Use NewCA.
type CA struct {
	// File has its certificate, in PEM.
	File string
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA makes a CA, whose files are in dir and begin with its name.
func NewCA(dir, name string) (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c := &CA{File: filepath.Join(dir, name+".pem"), dir: dir, key: key, cert: template(name)}
	c.cert.IsCA, c.cert.BasicConstraintsValid, c.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, c.cert, c.cert, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return c, write(c.File, "CERTIFICATE", der)
}

// Issue signs a certificate for 127.0.0.1, as a server and as a client.
func (c *CA) Issue(name string) (TLS, error) {
	out := TLS{Cert: filepath.Join(c.dir, name+".pem"), Key: filepath.Join(c.dir, name+".key")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return out, err
	}
	t := template(name)
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, t, c.cert, key.Public(), c.key)
	if err != nil {
		return out, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return out, err
	}
	return out, errors.Join(write(out.Cert, "CERTIFICATE", der), write(out.Key, "PRIVATE KEY", private))
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
	}
}

func write(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
