package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// dialDeadline is how long the connection to the runtime's streaming server may take, with its TLS handshake.
const dialDeadline = 30 * time.Second

// errNoUpgrade says that a request for a stream has no Upgrade header.
var errNoUpgrade = errors.New("Upgrade request required") //nolint:staticcheck // upstream's text

// upgrade returns a handler that forwards a request for an upgrade to the runtime's streaming server at where, and then all bytes in both directions.
//
// When one side closes its connection, so does the other: a client that is gone releases its slot, also if its command does not exit.
//
// Upstream: k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go. That package also rewrites HTML, which no stream needs.
func upgrade(where *url.URL) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL, r.Out.Body, r.Out.ContentLength = where, nil, 0
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		},
		Transport: &http.Transport{
			DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return dialStreaming(ctx, where) },
			DialTLSContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return dialStreaming(ctx, where) },
			DisableKeepAlives:      true,
			ResponseHeaderTimeout:  handshakeDeadline,
			MaxResponseHeaderBytes: handshakeLimit,
		},
		ModifyResponse: func(answer *http.Response) error {
			switch {
			case answer.StatusCode == http.StatusSwitchingProtocols:
				return wholeClose(answer) // the ReverseProxy compares the protocols
			case answer.StatusCode < http.StatusBadRequest:
				return invalidUpgrade(answer)
			}
			answer.Body = limited(answer.Body)
			return nil
		},
		ErrorHandler: failStream,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !httpstream.IsUpgradeRequest(r) {
			failStream(w, r, errNoUpgrade)
			return
		}
		w.Header()["Content-Type"] = nil // an answer without one gets none, as from upstream's kubelet
		forward.ServeHTTP(w, r)
	})
}

// wholeClose hides CloseWrite of an upgraded connection. With it, a ReverseProxy would take the end of the client for the end of its input,
// and wait for the runtime.
func wholeClose(answer *http.Response) error {
	conn, ok := answer.Body.(io.ReadWriteCloser)
	if !ok {
		return errors.New("unable to upgrade: the response cannot be written to")
	}
	answer.Body = struct{ io.ReadWriteCloser }{conn}
	return nil
}

// invalidUpgrade is the error for an answer that neither upgrades nor refuses.
func invalidUpgrade(answer *http.Response) error {
	return fmt.Errorf("invalid upgrade response: status code %d", answer.StatusCode)
}

// limited limits the body of a refusal.
func limited(body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, handshakeLimit), body}
}

// dialStreaming connects to a URL with the scheme http or https. It speaks HTTP/1.1 only: HTTP/2 has no upgrades.
func dialStreaming(ctx context.Context, where *url.URL) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialDeadline)
	defer cancel()
	var d interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	}
	switch where.Scheme {
	case "http":
		d = new(net.Dialer)
	case "https":
		d = &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}}
	default:
		return nil, fmt.Errorf("error dialing backend: unknown scheme: %s", where.Scheme)
	}
	port := where.Port()
	if port == "" {
		port = where.Scheme // net knows the ports of both
	}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(where.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("error dialing backend: %w", err)
	}
	return conn, nil
}
