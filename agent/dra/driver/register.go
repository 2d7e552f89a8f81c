package driver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthalpha "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	drabeta "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/trace"
)

// services are the versions of the API, and healthServices those of the service for health, that can be called, newest first. A plugin
// lists in its registration which it has.
var (
	services       = []string{drapb.DRAPluginService, drabeta.DRAPluginService}
	healthServices = []string{healthapi.DRAResourceHealthService, healthalpha.DRAResourceHealthService}
)

// startTimeout is how long a registration waits for Run.
const startTimeout = 10 * time.Second

var errEnding = errors.New("the kubelet does not serve DRA drivers now: try again")

// Register implements pluginwatch.Handler. The messages are upstream's.
//
// Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go, RegisterPlugin.
func (d *Drivers) Register(ctx context.Context, name, endpoint string, versions []string) error {
	err := d.register(ctx, name, endpoint, versions)
	if err != nil {
		d.publish(ctx, trace.DRAPlugin{Op: trace.DRARefused, Driver: clip(name), Socket: clip(endpoint), Err: err.Error()})
	}
	return err
}

func (d *Drivers) register(ctx context.Context, name, endpoint string, versions []string) error {
	service, err := choose(versions)
	if err != nil {
		return pluginwatch.Invalidf("invalid supported gRPC versions of DRA driver plugin %s at endpoint %s: %w", clip(name), clip(endpoint), err)
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return pluginwatch.Invalidf("the name of DRA driver %q is invalid: %s", clip(name), problems[0])
	}
	if !filepath.IsAbs(endpoint) || len(endpoint) > maxPath {
		return pluginwatch.Invalidf("the endpoint %q of DRA driver %s is invalid: want an absolute path of at most %d bytes", clip(endpoint), name, maxPath)
	}
	if err := d.await(ctx); err != nil {
		return err
	}
	p, err := open(name, endpoint, service)
	if err != nil {
		return fmt.Errorf("create gRPC connection to DRA driver %s plugin at endpoint %s: %w", name, endpoint, err)
	}
	if d.cfg.Health != nil {
		p.health = first(healthServices, versions)
	}
	if err := d.add(p); err != nil {
		p.close()
		return err
	}
	d.cfg.Usable(name)
	return nil
}

// maxPath is the length of the longest path of a socket, in bytes: the kernel's limit.
const maxPath = 107

// choose returns the newest service that the plugin has.
func choose(versions []string) (string, error) {
	if len(versions) == 0 {
		return "", errors.New("empty list of supported gRPC services (aka supported versions)")
	}
	if s := first(services, versions); s != "" {
		return s, nil
	}
	return "", fmt.Errorf("none of services supported by the plugin (%q) are supported by the kubelet (%q)", clip(strings.Join(versions, " ")), services)
}

// first returns the first of the wanted ones that there is.
func first(wanted, there []string) string {
	for _, s := range wanted {
		if slices.Contains(there, s) {
			return s
		}
	}
	return ""
}

// await returns when Run runs.
func (d *Drivers) await(ctx context.Context) error {
	t := time.NewTimer(startTimeout)
	defer t.Stop()
	select {
	case <-d.running:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return errEnding
	}
}

// add adds a plugin, and follows it.
func (d *Drivers) add(p *Plugin) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return errEnding
	}
	if slices.ContainsFunc(d.plugins[p.Driver], func(o *Plugin) bool { return o.socket == p.socket }) {
		return fmt.Errorf("endpoint %s already registered for DRA driver plugin %s", p.socket, p.Driver)
	}
	if d.count >= maxPlugins {
		return fmt.Errorf("%d plugins of DRA drivers are registered already, the limit", maxPlugins)
	}
	d.count++
	d.plugins[p.Driver] = append(d.plugins[p.Driver], p)
	ctx, cancel := context.WithCancel(d.ctx)
	p.stop = cancel
	d.publish(ctx, trace.DRAPlugin{Op: trace.DRARegistered, Driver: p.Driver, Socket: p.socket, Service: p.Service, Health: p.health})
	d.under.Go(func() { d.follow(ctx, p) })
	if p.health != "" {
		d.under.Go(func() { d.followHealth(ctx, p) })
	}
	d.changed(p.Driver)
	return nil
}

// Deregister implements pluginwatch.Handler: the plugin has removed its registration socket.
func (d *Drivers) Deregister(ctx context.Context, name, endpoint string) {
	if p := d.remove(ctx, name, endpoint); p != nil {
		p.close()
	}
}

// remove removes a plugin and returns it; nil if there is none.
func (d *Drivers) remove(ctx context.Context, name, endpoint string) *Plugin {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.plugins[name]
	i := slices.IndexFunc(all, func(p *Plugin) bool { return p.socket == endpoint })
	if i < 0 {
		return nil
	}
	p := all[i]
	d.count--
	if all = slices.Delete(all, i, i+1); len(all) > 0 {
		d.plugins[name] = all
	} else {
		delete(d.plugins, name)
	}
	p.connected = false
	p.stop()
	d.publish(ctx, trace.DRAPlugin{Op: trace.DRAGone, Driver: p.Driver, Socket: p.socket})
	d.changed(name)
	return p
}

// clip shortens what a plugin sent, for a message.
func clip(s string) string { return trace.Clip(s, 256) }
