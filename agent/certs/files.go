package certs

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"

	"github.com/kubeloupe/kubeloupe/trace"
)

// files is a pair in files that another program renews. It is read again when a handshake finds the files changed.
// While the new pair is invalid, for example between the writes of the two files, the old one stays in use.
type files struct {
	certFile, keyFile string
	source            trace.CertificateSource
	bus               *trace.Bus

	mu      sync.Mutex
	pair    *tls.Certificate
	stamp   string // state of the files of pair
	refused string // state of the files that were invalid
}

func (f *files) get() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stamp, err := f.look()
	if err == nil && f.pair != nil && (stamp == f.stamp || stamp == f.refused) {
		return f.pair, nil
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(f.certFile, f.keyFile); err == nil {
			f.tell(&pair)
			f.pair, f.stamp, f.refused = &pair, stamp, ""
			return f.pair, nil
		}
		err = fmt.Errorf("%s, %s: %w", f.certFile, f.keyFile, err)
	}
	if f.pair == nil {
		return nil, err
	}
	if stamp == "" {
		stamp = "missing"
	}
	if f.refused != stamp {
		f.refused = stamp
		trace.Point(f.bus, trace.Span{}, trace.Log{Level: "warn", Message: "the new serving certificate is not valid; the old one stays in use", Attrs: []trace.KV{{K: "error", V: err.Error()}}})
	}
	return f.pair, nil
}

// look returns the modification times and sizes of the files.
func (f *files) look() (string, error) {
	var stamp string
	for _, path := range []string{f.certFile, f.keyFile} {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		stamp += fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), " ")
	}
	return stamp, nil
}

// tell publishes a pair that replaces the current one, if any.
func (f *files) tell(pair *tls.Certificate) {
	e := trace.Certificate{Use: trace.UseServing, Cause: trace.CertificateStart, Source: f.source, Path: f.certFile}
	if f.pair != nil {
		e.Cause = trace.CertificateChanged
	}
	trace.Point(f.bus, trace.Span{}, described(e, pair.Leaf))
}
