package device

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Socket is the name of the registration socket in the directory of device plugins.
const Socket = "kubelet.sock"

const (
	// maxRegister limits a registration, in bytes, and maxStreams how many of one connection are served at the same time.
	maxRegister = 64 << 10
	maxStreams  = 16
	// maxConnecting limits how many plugins are being connected at the same time.
	maxConnecting = 32
	// maxResources limits how many resources there may be, with those that were removed.
	maxResources = 1024
	// saveEvery is the shortest time between two writes of the checkpoint because of plugins' lists.
	saveEvery = time.Second
	// saveAgain is how long to wait after it could not be written.
	saveAgain = 10 * time.Second
)

// Run serves registrations on the socket and follows the plugins, until ctx ends. It returns nil then.
//
// Upstream: pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go.
func (m *Manager) Run(ctx context.Context) error {
	l, err := m.listen(ctx)
	if err != nil {
		return fmt.Errorf("registration of device plugins: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var under sync.WaitGroup
	defer under.Wait()
	g := &registry{m: m, ctx: ctx, under: &under, connecting: make(chan struct{}, maxConnecting)}
	m.serve(g)
	defer m.disconnectAll()
	defer m.serve(nil)
	srv := grpc.NewServer(grpc.MaxRecvMsgSize(maxRegister), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(optionsTimeout))
	pluginapi.RegisterRegistrationServer(srv, g)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	defer srv.Stop()
	for {
		select {
		case <-ctx.Done():
			return m.saveLast()
		case err := <-ended:
			if ctx.Err() != nil {
				return m.saveLast()
			}
			return fmt.Errorf("registration of device plugins: %w", err)
		case <-m.dirty:
			m.saveSoon(ctx)
		}
	}
}

// serve sets the service that connects plugins; nil when it ends.
func (m *Manager) serve(g *registry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registry = g
}

// Healthy returns an error while plugins cannot register.
func (m *Manager) Healthy() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.registry == nil {
		return errors.New("device plugins cannot register")
	}
	return nil
}

// saveSoon writes the checkpoint, and returns when it may be written again. What cannot be written is tried again.
func (m *Manager) saveSoon(ctx context.Context) {
	err := m.save()
	if err == nil {
		clock.Sleep(ctx, saveEvery)
		return
	}
	m.log(ctx, "the checkpoint of devices cannot be written", err, "")
	clock.Sleep(ctx, saveAgain)
	m.markDirty()
}

// saveLast writes the checkpoint if anything has changed since.
func (m *Manager) saveLast() error {
	select {
	case <-m.dirty:
		return m.save()
	default:
		return nil
	}
}

// listen creates the socket. Only root may use it: its directory is closed to others.
func (m *Manager) listen(ctx context.Context) (net.Listener, error) {
	path := filepath.Join(m.cfg.Dir, Socket)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return (&net.ListenConfig{}).Listen(ctx, "unix", path)
}

// disconnectAll ends all connections, so that those who follow plugins end.
func (m *Manager) disconnectAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.resources {
		for _, p := range r.plugins {
			_ = p.conn.Close()
		}
		if r.expiry != nil {
			r.expiry.Stop()
		}
	}
}

// publish publishes a change of a plugin.
func (m *Manager) publish(ctx context.Context, e trace.DevicePlugin) {
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), e)
}
