package cri

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxMessage is upstream's limit for one CRI message.
// Upstream: cri-client/pkg/remote_runtime.go.
const maxMessage = 16 << 20

const (
	// streamWindow limits how much of a response the runtime may send before it is read. It must not grow
	// automatically.
	streamWindow = 64 << 10
	// maxHeader limits the size of the runtime's errors: they contain a registry's response, and gRPC sends them as
	// headers.
	maxHeader = 1 << 20
)

// Config is the configuration of the connections to the runtime.
type Config struct {
	// Endpoint is a unix:// URL or a bare socket path.
	Endpoint string
	// ImageEndpoint is the image service's; empty means Endpoint.
	ImageEndpoint string
	// Timeout is the default deadline of a call (runtimeRequestTimeout, 2 min
	// upstream); zero means 2 minutes. PullImage has none.
	Timeout time.Duration
	// Bus receives a CRICall for each call; may be nil.
	Bus *trace.Bus
	// ListStreaming gets lists as streams of messages, if the runtime implements this (feature gate CRIListStreaming).
	ListStreaming bool
	// Secrets are redacted in published calls; may be nil.
	Secrets *redact.Vault
}

// Client is a connected CRI runtime. Close it when done.
type Client struct {
	Runtime runtimeapi.RuntimeServiceClient
	Image   runtimeapi.ImageServiceClient
	// Conn is the runtime's connection, for other services on the same socket.
	Conn *grpc.ClientConn
	// Info is the runtime's response to Version when it was connected.
	Info *runtimeapi.VersionResponse

	imageConn *grpc.ClientConn
}

// Dial connects and calls Version. The error is a *DialError.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Minute
	}
	conn, err := open(cfg.Endpoint, cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{Runtime: runtimeapi.NewRuntimeServiceClient(conn), Conn: conn, imageConn: conn}
	if cfg.ImageEndpoint != "" && cfg.ImageEndpoint != cfg.Endpoint {
		if c.imageConn, err = open(cfg.ImageEndpoint, cfg); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	c.Image = runtimeapi.NewImageServiceClient(c.imageConn)

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c.Info, err = c.Runtime.Version(ctx, &runtimeapi.VersionRequest{Version: "v1"}, grpc.WaitForReady(true))
	if err != nil {
		_ = c.Close()
		return nil, versionError(cfg.Endpoint, err)
	}
	return c, nil
}

// Close closes the connections.
func (c *Client) Close() error {
	err := c.Conn.Close()
	if c.imageConn != c.Conn {
		if e := c.imageConn.Close(); err == nil {
			err = e
		}
	}
	return err
}

func open(endpoint string, cfg Config) (*grpc.ClientConn, error) {
	path, err := SocketPath(endpoint)
	if err != nil {
		return nil, &DialError{Endpoint: endpoint, Cause: err.Error(), Remedy: "use an endpoint like unix:///run/containerd/containerd.sock"}
	}
	if st, err := os.Stat(path); err != nil {
		return nil, &DialError{Endpoint: endpoint, Err: err, Cause: "no socket there: " + err.Error(), Remedy: "start the runtime, or `make lab-up` for a private containerd, or `--runtime sim` for a simulated one"}
	} else if st.Mode()&os.ModeSocket == 0 {
		return nil, &DialError{Endpoint: endpoint, Cause: "not a socket", Remedy: "give --container-runtime-endpoint the runtime's socket"}
	}
	unary := []grpc.UnaryClientInterceptor{gated, deadlines(cfg.Timeout), traceUnary(cfg.Bus, cfg.Secrets), execSync()}
	if cfg.ListStreaming {
		unary = append(unary, listStreams())
	}
	conn, err := grpc.NewClient("unix://"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithMaxHeaderListSize(maxHeader),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithChainUnaryInterceptor(unary...),
		grpc.WithChainStreamInterceptor(traceStream(cfg.Bus)),
	)
	if err != nil {
		return nil, &DialError{Endpoint: endpoint, Err: err, Cause: err.Error()}
	}
	return conn, nil
}

// SocketPath returns the path of a unix endpoint.
func SocketPath(endpoint string) (string, error) {
	if filepath.IsAbs(endpoint) {
		return endpoint, nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", err
	case u.Scheme != "unix":
		return "", fmt.Errorf("endpoint %q: want unix:///path/of/socket", endpoint)
	case !filepath.IsAbs(u.Path):
		return "", fmt.Errorf("endpoint %q: the socket's path must be absolute", endpoint)
	}
	return u.Path, nil
}

// DialError says why no runtime could be used and what to do about it.
type DialError struct {
	Endpoint string
	Cause    string
	Remedy   string
	Err      error
}

// Error implements error.
func (e *DialError) Error() string {
	s := fmt.Sprintf("container runtime at %s: %s", e.Endpoint, e.Cause)
	if e.Remedy != "" {
		s += "\n  remedy: " + e.Remedy
	}
	return s
}

// Unwrap returns the underlying error.
func (e *DialError) Unwrap() error { return e.Err }

func versionError(endpoint string, err error) *DialError {
	e := &DialError{Endpoint: endpoint, Err: err, Cause: status.Convert(err).Message()}
	switch status.Code(err) {
	case codes.Unimplemented:
		e.Cause = "it answers gRPC but is not a CRI v1 server (" + e.Cause + ")"
		e.Remedy = "containerd: enable the cri plugin (it is often listed in disabled_plugins of config.toml); needs containerd 1.6 or newer"
	case codes.DeadlineExceeded, codes.Unavailable:
		e.Cause = "nothing that speaks gRPC answers (" + e.Cause + ")"
		e.Remedy = "check that the runtime is running and that this is its CRI socket"
	}
	return e
}
