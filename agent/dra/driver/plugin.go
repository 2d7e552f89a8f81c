package driver

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	drabeta "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Timeout is how long a driver may take to prepare or unprepare claims.
//
// Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin.go, defaultClientCallTimeout.
const Timeout = 45 * time.Second

const (
	// maxMessage limits a message of a plugin, in bytes: the default of gRPC, which is upstream's limit.
	maxMessage = 4 << 20
	// maxError limits a plugin's error, which gRPC sends as headers; maxSaid is how much of it is kept. In bytes.
	maxError = 64 << 10
	maxSaid  = 1 << 10
	// connectAgain is the longest time between two attempts to connect.
	connectAgain = 10 * time.Second
)

// Plugin is a registered plugin of a driver.
type Plugin struct {
	Driver string
	// Service is the gRPC service that is called.
	Service        string
	socket, health string
	conn           *grpc.ClientConn
	api            drapb.DRAPluginClient
	stop           context.CancelFunc // ends those who follow it
	connected      bool               // guarded by the mu of Drivers
}

// open returns a plugin that connects when it is followed or called.
func open(driver, socket, service string) (*Plugin, error) {
	pace := backoff.DefaultConfig
	pace.MaxDelay = connectAgain
	conn, err := grpc.NewClient("passthrough:///localhost",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithMaxHeaderListSize(maxError),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pace, MinConnectTimeout: connectAgain}),
		grpc.WithIdleTimeout(0), // a connection that is not used shows whether the driver runs
	)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Driver: driver, Service: service, socket: socket, conn: conn}
	if service == drabeta.DRAPluginService {
		p.api = drabeta.V1Beta1ClientWrapper{DRAPluginClient: drabeta.NewDRAPluginClient(conn)}
	} else {
		p.api = drapb.NewDRAPluginClient(conn)
	}
	return p, nil
}

func (p *Plugin) close() { _ = p.conn.Close() }

// Prepare has the driver prepare claims. The answer is as the driver gave it, by the UIDs of claims. It waits at most [Timeout].
func (p *Plugin) Prepare(ctx context.Context, claims []*drapb.Claim) (map[string]*drapb.NodePrepareResourceResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	res, err := p.api.NodePrepareResources(ctx, &drapb.NodePrepareResourcesRequest{Claims: claims})
	return res.GetClaims(), said(err)
}

// Unprepare has the driver unprepare claims, like Prepare.
func (p *Plugin) Unprepare(ctx context.Context, claims []*drapb.Claim) (map[string]*drapb.NodeUnprepareResourceResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	res, err := p.api.NodeUnprepareResources(ctx, &drapb.NodeUnprepareResourcesRequest{Claims: claims})
	return res.GetClaims(), said(err)
}

// said shortens an error of a plugin: it becomes part of Events. Its gRPC status stays.
func said(err error) error {
	if err == nil || len(err.Error()) <= maxSaid {
		return err
	}
	return status.Error(Code(err), Clip(status.Convert(err).Message()))
}

// Clip shortens a text of a driver.
func Clip(s string) string { return trace.Clip(s, maxSaid) }

// Code returns the gRPC status of a call's error.
func Code(err error) codes.Code {
	if errors.Is(err, context.DeadlineExceeded) {
		return codes.DeadlineExceeded
	}
	return status.Code(err)
}

// follow keeps the plugin connected, and knows whether it is.
func (d *Drivers) follow(ctx context.Context, p *Plugin) {
	for {
		state := p.conn.GetState()
		switch state {
		case connectivity.Ready:
			d.note(ctx, p, true)
		case connectivity.Idle:
			d.note(ctx, p, false)
			p.conn.Connect()
		case connectivity.TransientFailure:
			d.note(ctx, p, false)
		case connectivity.Shutdown:
			return
		case connectivity.Connecting:
		}
		if !p.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// note takes whether a plugin is connected.
func (d *Drivers) note(ctx context.Context, p *Plugin, connected bool) {
	if d.set(ctx, p, connected) && connected {
		d.cfg.Usable(p.Driver)
	}
}

// set reports whether something has changed.
func (d *Drivers) set(ctx context.Context, p *Plugin, connected bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.connected == connected || ctx.Err() != nil {
		return false
	}
	p.connected = connected
	op := trace.DRADisconnected
	if connected {
		op = trace.DRAConnected
	}
	d.publish(ctx, trace.DRAPlugin{Op: op, Driver: p.Driver, Socket: p.socket})
	d.changed(p.Driver)
	return true
}
