package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// look is how often the plugin looks whether a kubelet started.
const look = 50 * time.Millisecond

// serve serves until ctx ends. A kubelet that starts removes the sockets of plugins on its own socket, which are made again then.
func (p *plugin) serve(ctx context.Context) error {
	if p.registry {
		return p.once(ctx, filepath.Join(p.root, "plugins_registry", p.name+".sock"), func(context.Context) error {
			<-ctx.Done()
			return nil
		})
	}
	dir := filepath.Join(p.root, "device-plugins")
	kubelet, own := filepath.Join(dir, filepath.Base(pluginapi.KubeletSocket)), filepath.Join(dir, p.name+".sock")
	for ctx.Err() == nil {
		began := identity(kubelet)
		if began == "" { // there is no kubelet for a while
			time.Sleep(look)
			continue
		}
		err := p.once(ctx, own, func(ctx context.Context) error {
			if err := p.register(ctx, kubelet); err != nil {
				return err
			}
			for ctx.Err() == nil && identity(kubelet) == began && identity(own) != "" {
				time.Sleep(look)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "deviceplugin:", err)
			time.Sleep(look)
		}
	}
	return nil
}

// identity tells one socket from the next one at the same path.
func identity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return info.ModTime().String()
}

// once serves at a socket while f runs.
func (p *plugin) once(ctx context.Context, socket string, f func(context.Context) error) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return err
	}
	_ = os.Remove(socket) // of an earlier run that was killed
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	srv := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(srv, p)
	registerapi.RegisterRegistrationServer(srv, p)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	err = f(ctx)
	srv.Stop()
	return errors.Join(err, <-failed)
}

// register registers the plugin with the kubelet.
func (p *plugin) register(ctx context.Context, socket string) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err = pluginapi.NewRegistrationClient(conn).Register(ctx, &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: p.name + ".sock", ResourceName: p.resource,
		Options: &pluginapi.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true},
	})
	if err == nil {
		err = p.journal.add(entry{Method: "Register"})
	}
	return err
}

// GetInfo implements registration in plugins_registry.
func (p *plugin) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.DevicePlugin, Name: p.resource, SupportedVersions: []string{pluginapi.Version}}, nil
}

// NotifyRegistrationStatus implements registration in plugins_registry.
func (p *plugin) NotifyRegistrationStatus(_ context.Context, st *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, p.journal.add(entry{Method: "Register", Err: st.GetError()})
}
