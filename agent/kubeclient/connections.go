package kubeclient

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// connections are the clients' shared connections.
type connections struct {
	dialer    *connrotation.Dialer
	transport *http.Transport // nil if it is client-go's own
	shown     shown
}

// newConnections sets a separate transport with cfg's TLS options. certificate, if not nil, is called at each handshake
// and takes precedence over cfg's.
//
// Upstream: pkg/kubelet/certificate/transport.go, UpdateTransport.
func newConnections(cfg *rest.Config, certificate func() *tls.Certificate) (*connections, error) {
	if cfg.Transport != nil || cfg.Dial != nil {
		return nil, fmt.Errorf("client of %s: a transport or dialer is configured already", cfg.Host)
	}
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext)
	if cfg.ExecProvider != nil {
		cfg.Dial = dialer.DialContext // client-go's own transport runs the provider
		return &connections{dialer: dialer}, nil
	}
	server, _, err := rest.DefaultServerUrlFor(cfg) // whether it is https depends on options that are removed below
	if err != nil {
		return nil, fmt.Errorf("server address %q: %w", cfg.Host, err)
	}
	cfg.Host = server.String()
	c := &connections{dialer: dialer}
	switch {
	case certificate != nil:
		c.shown.current = certificate
	case cfg.CertFile != "" && len(cfg.CertData) == 0:
		c.shown.current = fromFiles(cfg.CertFile, cfg.KeyFile)
	}
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("TLS of the client of %s: %w", cfg.Host, err)
	}
	if c.shown.current != nil {
		if tlsConfig == nil {
			tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		tlsConfig.Certificates, tlsConfig.GetClientCertificate = nil, c.shown.get
	}
	proxy := cfg.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	c.transport = utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               proxy,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     tlsConfig,
		MaxIdleConnsPerHost: 25,
		DialContext:         dialer.DialContext,
		DisableCompression:  cfg.DisableCompression,
	})
	cfg.Transport, cfg.Proxy = reauth{c}, nil
	cfg.TLSClientConfig = rest.TLSClientConfig{} // all of it is in the transport now
	return c, nil
}

func (c *connections) closeAll() { c.dialer.CloseAll() }

func (c *connections) closeIdle() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// reauth opens new connections if the server no longer accepts the old certificate and there is a new one.
type reauth struct{ *connections }

// RoundTrip implements http.RoundTripper.
func (r reauth) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.transport.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && r.shown.outdated() {
		r.closeAll()
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (r reauth) WrappedRoundTripper() http.RoundTripper { return r.transport }
