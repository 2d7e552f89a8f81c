package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// plugin serves the devices, and its registration where that is in plugins_registry.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	registerapi.UnimplementedRegistrationServer
	config
	// name is the last part of the resource's name.
	name    string
	ids     []string
	journal *journal
	hooks   hooks
}

// newPlugin makes the files of the devices.
func newPlugin(c config) (*plugin, error) {
	vendor, name, ok := strings.Cut(c.resource, "/")
	if !ok {
		return nil, fmt.Errorf("-resource %q: want a name such as lab.kubeloupe.dev/alpha", c.resource)
	}
	p := &plugin{config: c, name: name, journal: &journal{path: c.journal, program: name}, hooks: hooks{c.hooks, name}}
	if err := os.MkdirAll(c.data, 0o755); err != nil {
		return nil, err
	}
	for i := range c.devices {
		id := fmt.Sprintf("%s-%d", name, i)
		p.ids = append(p.ids, id)
		if err := os.WriteFile(p.file(id), []byte(id+"\n"), 0o644); err != nil {
			return nil, err
		}
	}
	if c.cdi == "" {
		return p, nil
	}
	var devices []cdiDevice
	for _, id := range p.ids {
		devices = append(devices, cdiDevice{Name: id, Edits: edits("CDI_", id)})
	}
	return p, writeCDI(filepath.Join(c.cdi, vendor+"-"+name+".json"), vendor+"/"+name, devices)
}

func (p *plugin) file(id string) string { return filepath.Join(p.data, id) }

// done writes the call to the journal, and ends the agent if a test ordered that.
func (p *plugin) done(e entry) error {
	if err := p.journal.add(e); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return p.hooks.at(e.Method, "end")
}

// GetDevicePluginOptions implements the device plugin API.
func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}, p.done(entry{Method: "GetDevicePluginOptions"})
}

// ListAndWatch implements the device plugin API. All devices are healthy.
func (p *plugin) ListAndWatch(_ *pluginapi.Empty, s grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	var all []*pluginapi.Device
	for _, id := range p.ids {
		d := &pluginapi.Device{ID: id, Health: pluginapi.Healthy}
		if p.node >= 0 {
			d.Topology = &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: p.node}}}
		}
		all = append(all, d)
	}
	if err := s.Send(&pluginapi.ListAndWatchResponse{Devices: all}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// GetPreferredAllocation implements the device plugin API: after those that must be, the last ones by name.
func (p *plugin) GetPreferredAllocation(_ context.Context, req *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	if err := p.hooks.at("GetPreferredAllocation", "begin"); err != nil {
		return nil, err
	}
	out := &pluginapi.PreferredAllocationResponse{}
	var given []string
	for _, r := range req.GetContainerRequests() {
		ids := slices.Clone(r.GetMustIncludeDeviceIDs())
		for _, id := range slices.Backward(slices.Sorted(slices.Values(r.GetAvailableDeviceIDs()))) {
			if len(ids) < int(r.GetAllocationSize()) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		given = append(given, ids...)
		out.ContainerResponses = append(out.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return out, p.done(entry{Method: "GetPreferredAllocation", Devices: given})
}

// Allocate implements the device plugin API.
func (p *plugin) Allocate(_ context.Context, req *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	if err := p.hooks.at("Allocate", "begin"); err != nil {
		return nil, err
	}
	out := &pluginapi.AllocateResponse{}
	var given []string
	for _, r := range req.GetContainerRequests() {
		ids := slices.Sorted(slices.Values(r.GetDevicesIds()))
		for _, id := range ids {
			if !slices.Contains(p.ids, id) {
				return nil, status.Errorf(codes.InvalidArgument, "no device %q", id)
			}
		}
		given = append(given, ids...)
		out.ContainerResponses = append(out.ContainerResponses, p.answer(ids))
	}
	return out, p.done(entry{Method: "Allocate", Devices: given})
}

// answer is what a container gets with devices.
func (p *plugin) answer(ids []string) *pluginapi.ContainerAllocateResponse {
	vendor, _, _ := strings.Cut(p.resource, "/")
	r := &pluginapi.ContainerAllocateResponse{
		Envs:        map[string]string{strings.ToUpper(p.name): strings.Join(ids, ",")},
		Annotations: map[string]string{p.resource: strings.Join(ids, ",")},
	}
	for _, id := range ids {
		if p.cdi != "" {
			r.CdiDevices = append(r.CdiDevices, &pluginapi.CDIDevice{Name: vendor + "/" + p.name + "=" + id})
			continue
		}
		r.Mounts = append(r.Mounts, &pluginapi.Mount{HostPath: p.file(id), ContainerPath: "/devices/" + id, ReadOnly: true})
		r.Devices = append(r.Devices, &pluginapi.DeviceSpec{HostPath: "/dev/null", ContainerPath: "/dev/" + id, Permissions: "rw"})
	}
	return r
}

// PreStartContainer implements the device plugin API.
func (p *plugin) PreStartContainer(_ context.Context, req *pluginapi.PreStartContainerRequest) (*pluginapi.PreStartContainerResponse, error) {
	if err := p.hooks.at("PreStartContainer", "begin"); err != nil {
		return nil, err
	}
	return &pluginapi.PreStartContainerResponse{}, p.done(entry{Method: "PreStartContainer", Devices: slices.Sorted(slices.Values(req.GetDevicesIds()))})
}
