package model

import (
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

func (s *resources) devices(r *trace.Record, e *trace.DeviceAllocation) {
	switch e.Outcome {
	case trace.DevicesAllocated, trace.DevicesKept:
		own := *e
		own.IDs = make([]string, min(len(e.IDs), maxHeld))
		for i := range own.IDs {
			own.IDs[i] = trace.Clip(e.IDs[i], maxID)
		}
		o := s.owner(r, e.Container)
		o.DevicesAt = r.At()
		i, has := slices.BinarySearchFunc(o.Devices, e.Resource, func(d trace.DeviceAllocation, name string) int { return strings.Compare(d.Resource, name) })
		switch {
		case has:
			o.Devices[i] = own
		case len(o.Devices) < maxHeld:
			o.Devices = slices.Insert(slices.Clip(o.Devices), i, own)
		}
	case trace.DevicesRefused:
		s.refuse(r, Refusal{Container: e.Container, Message: e.Err, Resource: e.Resource, Count: e.Count})
	case trace.DevicesReleased:
		if o := s.owners[keyOf(r.Pod)][e.Container]; o != nil {
			is := o.edit()
			is.Devices = slices.DeleteFunc(is.Devices, func(d trace.DeviceAllocation) bool { return d.Resource == e.Resource })
			s.tidy(r.Pod, e.Container)
		}
	case trace.DevicesPrepared:
	}
}

func (s *resources) plugin(r *trace.Record, e *trace.DevicePlugin) {
	d := s.plugins[e.Resource]
	if d == nil {
		if len(s.plugins) >= maxDevices {
			return
		}
		d = &DeviceResource{Name: e.Resource, Plugin: PluginUnknown}
		s.plugins[e.Resource] = d
	}
	is := func(p PluginState) { d.Plugin, d.Since = p, r.At() }
	switch e.Op {
	case trace.PluginRegistered:
		is(PluginConnected)
		d.PreStart, d.Prefers, d.Err = e.PreStart, e.Prefers, ""
		if !slices.Contains(d.Sockets, e.Socket) && len(d.Sockets) < maxSockets {
			d.Sockets = append(slices.Clip(d.Sockets), e.Socket)
		}
	case trace.PluginListed:
		d.Listed, d.HealthyOnly, d.Healthy = true, true, e.Healthy
	case trace.PluginDevices:
		d.Listed, d.HealthyOnly, d.Healthy, d.Unhealthy, d.Dropped = true, false, e.Healthy, e.Unhealthy, e.Dropped
		if d.Plugin == PluginUnknown { // its registration was missed
			is(PluginConnected)
		}
	case trace.PluginGone:
		d.Sockets = slices.DeleteFunc(slices.Clone(d.Sockets), func(socket string) bool { return socket == e.Socket })
		if d.Err = e.Err; len(d.Sockets) == 0 {
			is(PluginGone)
		}
	case trace.PluginRemoved:
		is(PluginRemoved)
		d.Listed, d.Healthy, d.Unhealthy = false, 0, 0
	case trace.PluginRefused:
		if d.Err = e.Err; d.Plugin == PluginUnknown {
			is(PluginRefused)
		}
	}
}
