package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// credentialID is the key in a user's extra that identifies the certificate.
const credentialID = "authentication.kubernetes.io/credential-id"

// maxChain limits how many certificates a client may send; each is checked against the others.
const maxChain = 10

// certificate returns the user of the client's certificate; nil without an error if there is none, or it has no common
// name.
//
// Upstream: apiserver/pkg/authentication/request/x509/x509.go.
func (a *Auth) certificate(r *http.Request) (*User, error) {
	if a.cas == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	leaf := r.TLS.PeerCertificates[0]
	if err := a.verify(r.TLS.PeerCertificates); err != nil {
		return nil, fmt.Errorf("client certificate of %q: %w", leaf.Subject.CommonName, err)
	}
	if leaf.Subject.CommonName == "" {
		return nil, nil
	}
	uid, err := uidOf(leaf)
	if err != nil {
		return nil, fmt.Errorf("client certificate of %q: %w", leaf.Subject.CommonName, err)
	}
	sum := sha256.Sum256(leaf.Raw)
	return &User{
		Name: leaf.Subject.CommonName, UID: uid, How: trace.CredentialX509,
		Groups: authenticated(leaf.Subject.Organization),
		Extra:  map[string][]string{credentialID: {"X509SHA256=" + hex.EncodeToString(sum[:])}},
	}, nil
}

// Certified reports whether a client with these certificates is known.
func (a *Auth) Certified(certs []*x509.Certificate) bool {
	return a.cas != nil && len(certs) > 0 && a.verify(certs) == nil
}

// ClientCAs returns the CA certificates of clients; nil if there are none.
func (a *Auth) ClientCAs() *x509.CertPool {
	if a.cas == nil {
		return nil
	}
	pool, _ := a.cas.get() // New has read it: there is a last valid one
	return pool
}

func (a *Auth) verify(certs []*x509.Certificate) error {
	if n := len(certs); n > maxChain {
		return fmt.Errorf("the certificate chain has %d further certificates: at most %d are checked", n-1, maxChain-1)
	}
	roots, err := a.cas.get()
	if err != nil {
		return err
	}
	opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, c := range certs[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err = certs[0].Verify(opts)
	return err
}

// uidOf returns the user's UID, which is in the subject under Kubernetes' own OID; "" if there is none.
//
// Upstream: parseUIDFromCert.
func uidOf(c *x509.Certificate) (string, error) {
	number := asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}
	var uids []string
	for _, n := range c.Subject.Names {
		if n.Type.Equal(number) {
			uid, _ := n.Value.(string) // crypto/x509 refuses subjects with other values
			uids = append(uids, uid)
		}
	}
	switch {
	case len(uids) == 0:
		return "", nil
	case len(uids) > 1:
		return "", fmt.Errorf("expected 1 UID, but found multiple: %d", len(uids))
	case uids[0] == "":
		return "", errors.New("UID cannot be an empty string")
	}
	return uids[0], nil
}

// caFile is a file of certificates that is read again when it changes.
type caFile struct {
	path string

	mu   sync.Mutex
	seen os.FileInfo
	pem  []byte
	pool *x509.CertPool
}

// get returns the certificates. If the file has become invalid, the last valid ones stay in use.
func (f *caFile) get() (*x509.CertPool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st, err := os.Stat(f.path)
	if err == nil && (f.seen == nil || !os.SameFile(st, f.seen) || !st.ModTime().Equal(f.seen.ModTime()) || st.Size() != f.seen.Size()) {
		err = f.read()
		f.seen = st
	}
	if f.pool != nil {
		return f.pool, nil
	}
	return nil, err
}

func (f *caFile) read() error {
	pem, err := wholefile.Read(f.path, wholefile.Large)
	if err != nil {
		return err
	}
	if f.pool != nil && bytes.Equal(pem, f.pem) {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return errors.New(f.path + ": no certificate in it")
	}
	f.pem, f.pool = pem, pool
	return nil
}
