package certs

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// store keeps certificates with their keys in a directory: each pair in a file of its own, such as kubelet-client-2026-11-27-20-00-00.pem,
// and a symbolic link, kubelet-client-current.pem, to the pair in use. Upstream's kubelet reads and writes the same files.
//
// Upstream: client-go, util/certificate/certificate_store.go.
type store struct {
	dir, name string
	// certFile and keyFile are used while there is no link; they may be "".
	certFile, keyFile string
}

// errNoPair says that there is no certificate yet.
var errNoPair = errors.New("no certificate and key")

// newStore opens a store. If a process ended between the two steps of an update, it does the second.
func newStore(dir, name, certFile, keyFile string) (*store, error) {
	s := &store{dir: dir, name: name, certFile: certFile, keyFile: keyFile}
	if ok, err := exists(s.currentPath()); ok || err != nil {
		return s, err
	}
	switch err := link(s.file("updated")); {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, err
	}
	return s, os.Rename(s.file("updated"), s.currentPath())
}

func (s *store) file(of string) string { return filepath.Join(s.dir, s.name+"-"+of+".pem") }

// currentPath is the link to the pair in use.
func (s *store) currentPath() string { return s.file("current") }

// current reads the pair in use. The error is errNoPair if there is none.
func (s *store) current() (*tls.Certificate, error) {
	for _, f := range [][2]string{
		{s.currentPath(), s.currentPath()},
		{s.certFile, s.keyFile},
		{filepath.Join(s.dir, s.name+".crt"), filepath.Join(s.dir, s.name+".key")},
	} {
		hasCert, err := exists(f[0])
		if err != nil {
			return nil, err
		}
		hasKey, err := exists(f[1])
		if err != nil {
			return nil, err
		}
		if !hasCert || !hasKey {
			continue
		}
		pair, err := readPair(f[0], f[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f[0], err)
		}
		return pair, nil
	}
	return nil, fmt.Errorf("%w in %s", errNoPair, s.dir)
}

// update writes a pair, checks it and makes it the one in use. Nobody sees the link missing.
func (s *store) update(certPEM, keyPEM []byte) (*tls.Certificate, error) {
	chain, err := cert.ParseCertsPEM(certPEM)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	key, _ := pem.Decode(keyPEM)
	if key == nil {
		return nil, errors.New("key: no PEM block")
	}
	var text bytes.Buffer
	for _, c := range chain {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw}))
	}
	text.Write(pem.EncodeToMemory(key))
	pair, err := tls.X509KeyPair(text.Bytes(), text.Bytes())
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(s.file(time.Now().Format("2006-01-02-15-04-05")))
	if err != nil {
		return nil, err
	}
	if err := wholefile.Write(path, text.Bytes(), 0o600); err != nil {
		return nil, err
	}
	return &pair, s.use(path)
}

// use makes a file the pair in use.
func (s *store) use(path string) error {
	for _, name := range []string{s.currentPath(), s.file("updated")} {
		if err := link(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Remove(s.file("updated")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(path, s.file("updated")); err != nil {
		return err
	}
	return os.Rename(s.file("updated"), s.currentPath())
}

// readPair reads a certificate, with its Leaf, and its key. The files may be those that a kubeconfig names.
func readPair(certFile, keyFile string) (*tls.Certificate, error) {
	certPEM, err := wholefile.Read(certFile, wholefile.Large)
	if err != nil {
		return nil, err
	}
	keyPEM, err := wholefile.Read(keyFile, wholefile.Large)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	return &pair, err
}

// link returns an error if a file does not exist, or is no symbolic link.
func link(name string) error {
	info, err := os.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s must be a symbolic link, and is a file", name)
	}
	return err
}

// exists reports whether there is a file. The name "" is none.
func exists(name string) (bool, error) {
	_, err := os.Stat(name)
	if name == "" || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
