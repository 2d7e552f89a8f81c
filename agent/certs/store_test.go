package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/certificate"
	"k8s.io/klog/v2"
)

// pair is a certificate with its key.
func pair(t *testing.T, name string) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthority(t, time.Hour)
	return a.issue(pkix.Name{CommonName: name}, key.Public(), nil), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// TestStoreIsUpstreams has the kubelet's store and ours read what the other wrote, in one directory.
func TestStoreIsUpstreams(t *testing.T) {
	dir := t.TempDir()
	ours, err := newStore(dir, "kubelet-client", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ours.current(); !errors.Is(err, errNoPair) {
		t.Errorf("an empty store: %v", err)
	}
	theirs, err := certificate.NewFileStoreWithLogger(klog.Logger{}, "kubelet-client", dir, dir, "", "")
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM := pair(t, "ours")
	if made, err := ours.update(certPEM, keyPEM); err != nil || made.Leaf.Subject.CommonName != "ours" {
		t.Fatal(made, err)
	}
	if got, err := theirs.Current(); err != nil || got.Leaf.Subject.CommonName != "ours" || theirs.CurrentPath() != ours.currentPath() {
		t.Errorf("the kubelet reads %v, %v", got, err)
	}
	info, err := os.Stat(ours.currentPath())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the pair: %v, %v", info, err)
	}
	certPEM, keyPEM = pair(t, "theirs")
	if _, err := theirs.Update(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	if got, err := ours.current(); err != nil || got.Leaf.Subject.CommonName != "theirs" {
		t.Errorf("we read %v, %v", got, err)
	}
}

// TestStoreAfterAnEnd finishes an update that was not finished, and keeps the pair in use when another is not valid.
func TestStoreAfterAnEnd(t *testing.T) {
	dir := t.TempDir()
	s, err := newStore(dir, "kubelet-client", "", "")
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM := pair(t, "one")
	if _, err := s.update(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.currentPath(), s.file("updated")); err != nil {
		t.Fatal(err)
	}
	if s, err = newStore(dir, "kubelet-client", "", ""); err != nil {
		t.Fatal(err)
	}
	_, otherKey := pair(t, "two")
	for what, bad := range map[string][2][]byte{"no certificate": {keyPEM, keyPEM}, "no key": {certPEM, nil}, "another key": {certPEM, otherKey}} {
		if _, err := s.update(bad[0], bad[1]); err == nil {
			t.Errorf("%s: it is stored", what)
		}
	}
	if got, err := s.current(); err != nil || got.Leaf.Subject.CommonName != "one" {
		t.Errorf("current is %v, %v", got, err)
	}
}

// TestStoreReadsOther uses files that were given, and those of the certificate directory, in this order; a file in place of the link is
// an error that names it.
func TestStoreReadsOther(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certPEM, keyPEM := pair(t, "default")
	write("kubelet-client.crt", certPEM)
	write("kubelet-client.key", keyPEM)
	givenCert, givenKey := pair(t, "given")
	givenCertFile, givenKeyFile := write("given.crt", givenCert), write("given.key", givenKey)
	for _, c := range []struct{ certFile, keyFile, want string }{
		{"", "", "default"}, {givenCertFile, givenKeyFile, "given"}, {givenCertFile, filepath.Join(dir, "missing"), "default"},
	} {
		s, err := newStore(dir, "kubelet-client", c.certFile, c.keyFile)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.current(); err != nil || got.Leaf.Subject.CommonName != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	s, err := newStore(dir, "kubelet-client", "", "")
	if err != nil {
		t.Fatal(err)
	}
	link := write("kubelet-client-current.pem", append(certPEM, keyPEM...))
	if _, err := s.update(certPEM, keyPEM); err == nil || !strings.Contains(err.Error(), link) {
		t.Errorf("a file in place of the link: %v", err)
	}
}
