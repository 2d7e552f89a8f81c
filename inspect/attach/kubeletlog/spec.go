package kubeletlog

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// specs are what others told of pods: the kubelet's log has nothing of their specs.
type specs struct {
	byName map[string]known
	order  []string
}

// known is a pod's spec, as far as it matters here.
type known struct {
	uid                       string
	inits, containers, always int // always are init containers that stay
	probed                    int // containers with a readiness probe
	gated                     bool
	probes                    []probeID
}

// Know takes in a pod's spec, which somebody else told.
func (f *Fold) Know(pod trace.Pod, spec *trace.PodSpec) {
	k := known{uid: pod.UID, containers: len(spec.Containers), gated: spec.ReadinessGates > 0}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.Sidecar {
			k.always++
			k.take(c)
		} else {
			k.inits++
		}
	}
	for i := range spec.Containers {
		k.take(&spec.Containers[i])
	}
	s := &f.specs
	name := pod.Namespace + "/" + pod.Name
	if _, ok := s.byName[name]; !ok {
		if s.byName == nil {
			s.byName = map[string]known{}
		}
		if s.order = append(s.order, name); len(s.order) > maxPods {
			delete(s.byName, s.order[0])
			s.order = s.order[1:]
		}
	}
	s.byName[name] = k
}

func (k *known) take(c *trace.ContainerSpec) {
	for i := range c.Probes {
		k.probes = append(k.probes, probeID{c.Name, c.Probes[i].Probe})
		if c.Probes[i].Probe == trace.ProbeReadiness {
			k.probed++
		}
	}
}

// has reports whether there is such a probe.
func (k *known) has(id probeID) bool { return slices.Contains(k.probes, id) }

// spec is what is known of a pod's spec; nil where nobody told.
func (f *Fold) spec(p *pod) *known {
	k, ok := f.specs.byName[p.id.Namespace+"/"+p.id.Name]
	if !ok || k.uid != "" && p.id.UID != "" && f.pods.byUID[k.uid] != p {
		return nil
	}
	return &k
}

// allRun reports whether all of a pod's containers run, by how many were found to: its sandbox, its containers and what stays beside them.
// That of one whose containers failed is not known: a new try counts like another container.
func (f *Fold) allRun(p *pod, k *known) bool {
	alive := 0
	for _, a := range p.lives {
		if a {
			alive++
		}
	}
	stay := 1 + k.containers + k.always
	return !p.failed && alive >= stay && len(p.ids) >= stay+k.inits
}

// met notes a container or sandbox of a pod, by its id.
func (p *pod) met(id string) {
	if p.ids == nil {
		p.ids = map[string]bool{}
	}
	if len(p.ids) < maxLives {
		p.ids[id] = true
	}
}

// toldStart is the Event of an app container's start: with the spec it is known which one is the last.
func (f *Fold) toldStart(p *pod, name string, at int64) {
	if p.starts == nil {
		p.starts = map[string]bool{}
	}
	if len(p.starts) < maxLives {
		p.starts[name] = true
	}
	if k := f.spec(p); k != nil && len(p.starts) >= k.containers+k.always && len(p.waits) == 0 {
		f.nowStarted(p, at, micros)
	}
}
