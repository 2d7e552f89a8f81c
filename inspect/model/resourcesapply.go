package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The limits of resources.
const (
	maxOwners   = 1 << 14 // containers
	maxHeld     = 64      // resources of devices, and amounts of memory, of one container
	maxDevices  = 1024    // resources of devices
	maxSockets  = 8       // plugins of a resource
	maxRefusals = 100
	maxClaims   = 4096
	maxID       = 128 // bytes of a device's ID
)

// resources is a Resources being folded.
type resources struct {
	at      time.Time
	is      trace.ResourcesDescribed
	pool    string
	free    map[nodeResource]uint64      // what allocations said last
	owners  map[string]map[string]*owner // by pod and container
	count   int                          // of owners
	order   []*owner                     // all of them, and some that are gone; sorted says that none is, and that they are sorted
	sorted  bool
	plugins map[string]*DeviceResource
	refused []Refusal // oldest first
	claims  claims
	omitted int
	built   *Resources // nil: something has changed
}

// nodeResource is a resource of a NUMA node.
type nodeResource struct{ node, resource string }

func newResources() resources {
	return resources{free: map[nodeResource]uint64{}, owners: map[string]map[string]*owner{}, plugins: map[string]*DeviceResource{}, claims: newClaims()}
}

// apply takes a record that is about resources.
func (s *resources) apply(r *trace.Record) {
	switch e := r.Event.(type) {
	case *trace.ResourcesDescribed:
		s.at, s.is, s.pool = r.At(), *e, e.Pool
		clear(s.free)
	case *trace.Allocation:
		s.allocation(r, e)
	case *trace.DevicePlugin:
		s.plugin(r, e)
	case *trace.DeviceAllocation:
		s.devices(r, e)
	case *trace.ClaimDescribed:
		s.claims.apply(r, e)
	case *trace.Decision:
		if e.By != trace.ByAdmission || e.Verdict != trace.VerdictReject {
			return
		}
		s.forget(r.Pod, func(o *Owner) { *o = Owner{} })
		if aboutResources(e.Code) || s.refusal(r.Pod) != nil {
			s.refuse(r, Refusal{Code: e.Code, Message: e.Reason})
		}
	case *trace.Worker:
		if e.To != trace.WorkerTerminated {
			return
		}
		s.forget(r.Pod, func(o *Owner) { o.Devices, o.DevicesAt = nil, time.Time{} }) // those have no record of their release
	case *trace.Milestone:
		if e.Name != trace.MilestoneGone {
			return
		}
		s.forget(r.Pod, func(o *Owner) { *o = Owner{} })
	default:
		return
	}
	s.built = nil
}

// restart removes what a new agent publishes again.
func (s *resources) restart() {
	refused := s.refused
	*s = newResources()
	s.refused = refused
}

func (s *resources) allocation(r *trace.Record, e *trace.Allocation) {
	if e.Pool != "" {
		s.pool = e.Pool
	}
	for _, f := range e.Free {
		key := nodeResource{f.Nodes, f.Resource}
		if _, known := s.free[key]; known || len(s.free) < maxDevices {
			s.free[key] = f.Bytes
		}
	}
	switch e.Outcome {
	case trace.AllocationRefused:
		s.refuse(r, Refusal{
			Container: e.Container, Code: e.Code, Message: e.Err, Policy: e.Policy, Scope: e.Scope, Affinity: e.Affinity, Hints: e.Hints,
		})
	case trace.AllocationGranted, trace.AllocationKept:
		if e.Source == trace.SourcePodShared {
			return // the pod has it
		}
		own := *e
		own.Pool, own.Free, own.Own, own.Memory = "", nil, nil, e.Memory[:min(len(e.Memory), maxHeld)]
		if o := s.owner(r, e.Container); e.Manager == trace.ManagerMemory {
			o.Memory, o.MemoryAt = &own, r.At()
		} else {
			o.CPUs, o.CPUsAt = &own, r.At()
		}
	case trace.AllocationReleased:
		o := s.owners[keyOf(r.Pod)][e.Container]
		switch {
		case o == nil:
			return
		case e.Manager == trace.ManagerMemory:
			is := o.edit()
			is.Memory, is.MemoryAt = nil, time.Time{}
		default:
			is := o.edit()
			is.CPUs, is.CPUsAt = nil, time.Time{}
		}
		s.tidy(r.Pod, e.Container)
	case trace.AllocationAdmitted, trace.AllocationStarted: // nobody has something now that was free before
	}
}

// shorten cuts what takes much room.
func (s *resources) shorten() {
	for _, of := range s.owners {
		for _, o := range of {
			is := o.edit()
			if is.Memory != nil {
				is.Memory = new(*is.Memory)
				cutEvent(is.Memory)
			}
			for i := range is.Devices {
				cutEvent(&is.Devices[i])
			}
		}
	}
	s.claims.shorten()
	for i := range s.refused[:max(len(s.refused)-10, 0)] {
		s.refused[i].Hints = nil
	}
	s.built = nil
}
