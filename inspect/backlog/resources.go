package backlog

import (
	"maps"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Limits on what is kept of resources.
const (
	maxResources = 1024 // of device plugins, and amounts of memory of NUMA nodes
	maxSockets   = 8    // plugins of a resource
	maxHeld      = 256  // of a pod: what its containers have for themselves
	maxRefusals  = 300  // records
	maxClaims    = 4096 // ResourceClaims
)

// resources is the latest about what containers can have for themselves.
type resources struct {
	described *store.Item
	pool      *store.Item            // the last change of the CPUs that all share
	free      map[string]*store.Item // the last amount that a NUMA node has left, by node and resource
	plugins   map[string]*plugins    // by resource
	refused   ring.Ring[*store.Item] // the last records about pods that did not get what they requested
	claims    map[claim]*store.Item  // the last description of each claim
}

// claim is the namespace and name of a ResourceClaim.
type claim struct{ namespace, name string }

// plugins are the device plugins of a resource.
type plugins struct {
	sockets                                    map[string]*store.Item // the registrations of those that are connected
	registered, devices, gone, removed, refuse *store.Item            // the last of each
}

func newResources() resources {
	return resources{free: map[string]*store.Item{}, plugins: map[string]*plugins{}, refused: ring.New[*store.Item](maxRefusals), claims: map[claim]*store.Item{}}
}

// restart drops what a new agent publishes again.
func (s *resources) restart() {
	refused := s.refused
	*s = newResources()
	s.refused = refused
}

func (s *resources) walk(v visit) {
	one(v, needNode, &s.described, &s.pool)
	table(v, needParts, s.free)
	table(v, needParts, s.claims)
	maps.DeleteFunc(s.plugins, func(_ string, p *plugins) bool {
		table(v, needParts, p.sockets)
		one(v, needParts, &p.registered, &p.devices, &p.gone, &p.removed, &p.refuse)
		return p.registered == nil && p.devices == nil && p.gone == nil && p.removed == nil && p.refuse == nil
	})
	history(v, needHistory, &s.refused)
}

// fold keeps a record about resources.
func (s *resources) fold(e trace.Event, it *store.Item) {
	switch e := e.(type) {
	case *trace.ResourcesDescribed:
		s.described = it
		s.pool, s.free = nil, map[string]*store.Item{}
	case *trace.Allocation:
		if e.Pool != "" {
			s.pool = it
		}
		for _, f := range e.Free {
			if key := f.Nodes + " " + f.Resource; s.free[key] != nil || len(s.free) < maxResources {
				s.free[key] = it
			}
		}
		if e.Outcome == trace.AllocationRefused {
			s.refused.Push(it)
		}
	case *trace.DeviceAllocation:
		if e.Outcome == trace.DevicesRefused {
			s.refused.Push(it)
		}
	case *trace.Decision:
		if e.By == trace.ByAdmission && e.Verdict == trace.VerdictReject {
			s.refused.Push(it)
		}
	case *trace.DevicePlugin:
		s.plugin(e, it)
	case *trace.ClaimDescribed:
		switch key := (claim{e.Namespace, e.Name}); {
		case e.State == trace.ClaimGone:
			delete(s.claims, key)
		case s.claims[key] != nil || len(s.claims) < maxClaims:
			s.claims[key] = it
		}
	}
}

func (s *resources) plugin(e *trace.DevicePlugin, it *store.Item) {
	p := s.plugins[e.Resource]
	if p == nil {
		if len(s.plugins) >= maxResources {
			return
		}
		p = &plugins{sockets: map[string]*store.Item{}}
		s.plugins[e.Resource] = p
	}
	switch e.Op {
	case trace.PluginRegistered:
		p.registered = it
		if p.sockets[e.Socket] != nil || len(p.sockets) < maxSockets {
			p.sockets[e.Socket] = it
		}
	case trace.PluginDevices, trace.PluginListed:
		p.devices = it
	case trace.PluginGone:
		p.gone = it
		delete(p.sockets, e.Socket)
	case trace.PluginRemoved:
		p.removed = it
	case trace.PluginRefused:
		p.refuse = it
	}
}

// holding is what a container has: CPUs, memory, or devices of a resource.
type holding struct{ container, what string }

// hold keeps the last record about what a container of the pod has; also that it has it no more: the records of its run may have that it
// got it.
func (p *pod) hold(h holding, it *store.Item) {
	if p.held[h] != nil || len(p.held) < maxHeld {
		p.held[h] = it
	}
}

// foldResources keeps a record about what the pod's containers have for themselves.
func (p *pod) foldResources(e trace.Event, it *store.Item) {
	switch e := e.(type) {
	case *trace.Allocation:
		if e.Outcome != trace.AllocationRefused {
			p.hold(holding{e.Container, string(e.Manager)}, it)
		}
	case *trace.DeviceAllocation:
		if e.Outcome == trace.DevicesAllocated || e.Outcome == trace.DevicesKept || e.Outcome == trace.DevicesReleased {
			p.hold(holding{e.Container, "device " + e.Resource}, it)
		}
	case *trace.Decision:
		if e.By == trace.ByAdmission && e.Verdict == trace.VerdictReject {
			p.rejected = it
			clear(p.held)
		}
	case *trace.Worker:
		if e.To == trace.WorkerTerminated {
			p.over = it
		}
	}
}
