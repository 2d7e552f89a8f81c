package csi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/trace"
)

// driver is a registered driver.
type driver struct {
	name, endpoint string
	version        *utilversion.Version
	conn           *grpc.ClientConn
	node           csipb.NodeClient

	mu    sync.Mutex
	caps  map[csipb.NodeServiceCapability_RPC_Type]bool // nil until requested
	count refreshed
	// calls is the number of calls in progress. The last one of a retired driver closes conn.
	calls   int
	retired bool
}

// Register implements pluginwatch.Handler: it gets the node's information from the driver and updates the API.
//
// Upstream: pkg/volume/csi/csi_plugin.go, ValidatePlugin, RegisterPlugin.
func (p *Plugin) Register(ctx context.Context, name, endpoint string, versions []string) error {
	version, err := p.validate(name, endpoint, versions)
	if err != nil {
		return pluginwatch.Invalidf("validation failed for CSI Driver %s at endpoint %s: %w", name, endpoint, err)
	}
	d, err := p.dial(name, endpoint, version)
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := d.node.NodeGetInfo(asking, &csipb.NodeGetInfoRequest{}, grpc.WaitForReady(true))
	if err == nil {
		err = p.install(asking, name, resp)
	}
	if err != nil {
		_ = d.conn.Close()
		p.withdraw(ctx, name)
		return err
	}
	p.mu.Lock()
	old := p.drivers[name]
	p.drivers[name] = d
	p.leftovers = true
	close(p.arrived)
	p.arrived = make(chan struct{})
	p.mu.Unlock()
	if old != nil {
		old.retire()
	}
	if p.cfg.Registered != nil {
		p.cfg.Registered(name)
	}
	return nil
}

// withdraw removes a driver that could not register from the API, where an earlier agent may have installed it: otherwise, pods that need it
// come to this node. It does nothing if a driver of that name is registered, or if the agent ends.
//
// Upstream: pkg/volume/csi/csi_plugin.go, unregisterDriver.
func (p *Plugin) withdraw(ctx context.Context, name string) {
	if had, _ := p.driver(name); had != nil || ctx.Err() != nil {
		return
	}
	p.remove(ctx, name)
}

// remove removes a driver from the API.
func (p *Plugin) remove(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := p.uninstall(ctx, name); err != nil {
		trace.Point(p.cfg.Bus, trace.FromContext(ctx), trace.Log{Level: trace.LevelWarn, Message: "CSI driver " + name + " could not be taken out of the CSINode object: " + err.Error()})
	}
}

// Deregister implements pluginwatch.Handler.
func (p *Plugin) Deregister(ctx context.Context, name, endpoint string) {
	p.mu.Lock()
	d := p.drivers[name]
	if d == nil || d.endpoint != endpoint {
		p.mu.Unlock()
		return // another driver uses the name now
	}
	delete(p.drivers, name)
	p.mu.Unlock()
	d.retire()
	p.remove(ctx, name)
}

// Upstream: pkg/volume/csi/csi_plugin.go, validateVersions.
func (p *Plugin) validate(name, endpoint string, versions []string) (*utilversion.Version, error) {
	if name == "" || strings.ContainsAny(name, "/^\x00") {
		return nil, fmt.Errorf("CSI driver name %q at %s: want a DNS subdomain", name, endpoint)
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("CSI driver %q returned an empty list for supported versions", name)
	}
	version, err := utilversion.HighestSupportedVersion(versions)
	if err != nil {
		return nil, fmt.Errorf("CSI driver %q: none of the versions %q is supported: %w", name, versions, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if had := p.drivers[name]; had != nil && had.endpoint != endpoint && !had.version.LessThan(version) {
		return nil, fmt.Errorf("another CSI driver with the name %q is already registered at %s with a higher supported version: %s", name, had.endpoint, had.version)
	}
	return version, nil
}

func (p *Plugin) dial(name, endpoint string, version *utilversion.Version) (*driver, error) {
	d := &driver{name: name, endpoint: endpoint, version: version, count: refreshed{at: time.Now()}}
	conn, err := grpc.NewClient("unix://"+endpoint,
		grpc.WithAuthority("localhost"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		// A driver that restarts is back soon, and frequent attempts do no harm.
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, MaxDelay: 2 * time.Second}}),
		grpc.WithChainUnaryInterceptor(traceUnary(p.cfg.Bus, name), d.countCalls))
	if err != nil {
		return nil, fmt.Errorf("CSI driver %s at %s: %w", name, endpoint, err)
	}
	d.conn, d.node = conn, csipb.NewNodeClient(conn)
	return d, nil
}

// unregisteredError says that a driver is not registered now. It may be soon: the code of the error is that of a driver that cannot be reached.
type unregisteredError struct{ driver string }

// Error implements error.
func (e unregisteredError) Error() string {
	return fmt.Sprintf("driver name %s not found in the list of registered CSI drivers", e.driver)
}

// GRPCStatus is what the package status of gRPC looks for.
//
// Upstream: pkg/volume/csi/expander.go, NodeExpand.
func (e unregisteredError) GRPCStatus() *status.Status {
	return status.New(codes.Unavailable, e.Error())
}

// driver returns a registered driver. The error is an unregisteredError.
func (p *Plugin) driver(name string) (*driver, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.drivers[name]
	if d == nil {
		return nil, unregisteredError{name}
	}
	return d, nil
}

// registered returns the registered drivers, in no order.
func (p *Plugin) registered() []*driver {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.drivers))
}

// can reports whether the driver has a node capability. It asks the driver until it has answered once, and waits for no other caller.
func (d *driver) can(ctx context.Context, what csipb.NodeServiceCapability_RPC_Type) (bool, error) {
	d.mu.Lock()
	caps := d.caps
	d.mu.Unlock()
	if caps == nil {
		resp, err := d.node.NodeGetCapabilities(ctx, &csipb.NodeGetCapabilitiesRequest{})
		if err != nil {
			return false, fmt.Errorf("ask CSI driver %s for its capabilities: %w", d.name, err)
		}
		caps = map[csipb.NodeServiceCapability_RPC_Type]bool{}
		for _, c := range resp.GetCapabilities() {
			caps[c.GetRpc().GetType()] = true
		}
		d.mu.Lock()
		d.caps = caps
		d.mu.Unlock()
	}
	return caps[what], nil
}
