package kubeclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Config is the configuration of the clients.
type Config struct {
	// REST has the API server and the agent's identity: from Load or certs.Client. It is not changed.
	REST *rest.Config
	// Certificate, if not nil, returns the current client certificate; certs rotates it.
	Certificate func() *tls.Certificate
	// Ready, if not nil, is closed when Certificate has the first certificate: until then, requests of New's clients wait, each up to 10 s, and
	// then fail with ErrNoCertificate.
	Ready <-chan struct{}
	// QPS and Burst are kubeAPIQPS and kubeAPIBurst; QPS 0 means client-go's default of 5, below 0 no limit.
	QPS, Burst int32
	// EventQPS and EventBurst are eventRecordQPS and eventBurst; 0 means no limit.
	EventQPS, EventBurst int32
	// ContentType is contentType; empty means protobuf.
	ContentType string
	// StatusFrequency is nodeStatusUpdateFrequency, LeaseDuration nodeLeaseDurationSeconds: the shorter one is the timeout of a heartbeat, so
	// that after one that hangs there is time for others before the lease expires. Zero means no timeout.
	StatusFrequency, LeaseDuration time.Duration
	// UserAgent is the user agent; empty means client-go's.
	UserAgent string
	// Bus receives the calls; nil publishes nothing.
	Bus *trace.Bus
	// Secrets learns the tokens that are sent to the server; may be nil.
	Secrets *redact.Vault
}

// Clients are the agent's clients of one API server. They share their connections.
type Clients struct {
	Main      kubeapi.Interface
	Events    kubeapi.Interface
	Heartbeat kubeapi.Interface
	// REST is main's configuration, for clients of other kinds. Copy before changing it.
	REST *rest.Config

	conns *connections
	reach reach
}

// New creates the clients. It does not call the server.
//
// Upstream: cmd/kubelet/app/server.go, run and kubeClientConfigOverrides.
func New(cfg Config) (*Clients, error) {
	if cfg.REST == nil {
		return nil, errors.New("kubeclient: Config.REST is missing")
	}
	base := rest.CopyConfig(cfg.REST)
	base.UserAgent = cfg.UserAgent
	setContentType(base, cfg.ContentType)
	conns, err := newConnections(base, cfg.Certificate)
	if err != nil {
		return nil, err
	}
	c := &Clients{conns: conns}
	c.REST = client(base, &cfg, trace.ClientMain, &c.reach, cfg.QPS, cfg.Burst)
	if c.Main, err = kubeapi.New(c.REST); err != nil {
		return nil, fmt.Errorf("create the main client: %w", err)
	}
	eventQPS := cfg.EventQPS
	if eventQPS == 0 {
		eventQPS = -1
	}
	if c.Events, err = kubeapi.New(client(base, &cfg, trace.ClientEvents, &c.reach, eventQPS, cfg.EventBurst)); err != nil {
		return nil, fmt.Errorf("create the client of events: %w", err)
	}
	heartbeat := client(base, &cfg, trace.ClientHeartbeat, &c.reach, -1, 0)
	for _, d := range []time.Duration{cfg.StatusFrequency, cfg.LeaseDuration} {
		if d > 0 && (heartbeat.Timeout == 0 || heartbeat.Timeout > d) {
			heartbeat.Timeout = d
		}
	}
	if c.Heartbeat, err = kubeapi.New(heartbeat); err != nil {
		return nil, fmt.Errorf("create the client of heartbeats: %w", err)
	}
	return c, nil
}

// CloseConnections closes all connections, including watches: the next request uses the current certificate. Call it
// when the certificate was rotated.
func (c *Clients) CloseConnections() { c.conns.closeAll() }

// CloseIdle closes connections without a request in progress; call it after a failed heartbeat, because they may be
// broken. With HTTP/1.1, which has no pings that find broken connections, it closes all.
//
// Upstream: cmd/kubelet/app/server.go, buildKubeletClientConfig.
func (c *Clients) CloseIdle() {
	if os.Getenv(noHTTP2) != "" {
		c.conns.closeAll()
		return
	}
	c.conns.closeIdle()
}

// noHTTP2 is the environment variable with which clients do not use HTTP/2. Upstream: apimachinery, pkg/util/net.
const noHTTP2 = "DISABLE_HTTP2"

// client returns the configuration of one client.
func client(base *rest.Config, of *Config, name trace.APIClient, r *reach, qps, burst int32) *rest.Config {
	cfg := rest.CopyConfig(base)
	cfg.RateLimiter, cfg.QPS, cfg.Burst = nil, -1, 0
	if qps >= 0 {
		cfg.RateLimiter = newLimiter(of.Bus, string(name), qps, burst)
	}
	cfg.Wrap(disclose(of.Secrets))
	cfg.Wrap(wrap(of.Bus, name, r))
	if of.Ready != nil {
		cfg.Wrap(await(of.Ready))
	}
	return cfg
}

// setContentType sets the encoding; for types without protobuf, such as custom resources, JSON is used.
func setContentType(cfg *rest.Config, contentType string) {
	if contentType == "" {
		contentType = runtime.ContentTypeProtobuf
	}
	cfg.ContentType = contentType
	if contentType == runtime.ContentTypeProtobuf {
		cfg.AcceptContentTypes = strings.Join([]string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON}, ",")
	}
}
