package probe

import (
	"context"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// podProbes is a pod that has probes.
type podProbes struct {
	pod        *v1.Pod
	previous   *v1.PodStatus // when the pod was added: possibly from before the agent's start
	containers []*container
	ending     bool // only readiness continues
}

func (pp *podProbes) span() trace.Span {
	return trace.ForPod(trace.Span{}, trace.Pod{Namespace: pp.pod.Namespace, Name: pp.pod.Name, UID: string(pp.pod.UID)})
}

// container is a container with probes, and the state of the newest container of that name.
type container struct {
	pod     *podProbes
	spec    *v1.Container
	probes  [kinds]*target // nil if the spec has none
	id      string         // "" before the first
	began   time.Time      // when it started
	told    time.Time      // when Began reported it ahead of the runtime; else zero
	running bool
	cpu     reading // of the last failed attempt, or of the container's begin
}

// up reports whether the startup probe, if any, has succeeded.
func (c *container) up() bool { return c.probes[Startup] == nil || c.probes[Startup].value == Success }

// target is one probe of one container.
type target struct {
	*container
	kind  Kind
	probe *v1.Probe

	value Result // the current result
	last  Result // the result of the last attempt that counts
	run   int    // its number in a row
	said  string // output of the last failure
	held  bool   // no attempts until there is a new container

	next    time.Time // when the next attempt is due; zero for never
	counts  time.Time // failures before this time do not count
	looks   int       // early attempts so far
	turn    uint64    // of the valid timer or attempt
	timer   *time.Timer
	cancel  context.CancelFunc // cancels the running attempt; nil if none runs
	waiting trace.Span
	wait    trace.Wait // zero if none has begun
}

func (t *target) period() time.Duration  { return seconds(t.probe.PeriodSeconds, 10) }
func (t *target) timeout() time.Duration { return seconds(t.probe.TimeoutSeconds, 1) }
func (t *target) delay() time.Duration   { return seconds(t.probe.InitialDelaySeconds, 0) }

// threshold returns how many attempts in a row are needed for a result.
func (t *target) threshold(r Result) int {
	if r == Failure {
		return int(orDefault(t.probe.FailureThreshold, 3))
	}
	return int(orDefault(t.probe.SuccessThreshold, 1))
}

func seconds(n, otherwise int32) time.Duration {
	return time.Duration(orDefault(n, otherwise)) * time.Second
}

func orDefault(n, otherwise int32) int32 {
	if n <= 0 {
		return otherwise
	}
	return n
}

// collect returns the containers of a pod that have probes. Ephemeral containers and init containers that are not
// sidecars have none.
func collect(pp *podProbes) []*container {
	var out []*container
	add := func(spec *v1.Container) {
		c := &container{pod: pp, spec: spec}
		for kind, probe := range [kinds]*v1.Probe{spec.StartupProbe, spec.ReadinessProbe, spec.LivenessProbe} {
			if probe != nil {
				c.probes[kind] = &target{container: c, kind: Kind(kind), probe: probe, value: Kind(kind).initial()}
			}
		}
		if c.probes != [kinds]*target{} {
			out = append(out, c)
		}
	}
	for c, long := range podspec.Each(pp.pod) {
		if long {
			add(c)
		}
	}
	return out
}

// before returns the state in a status of the container with that ID, if it was running; otherwise nil.
func before(st *v1.PodStatus, name, id string) *v1.ContainerStatus {
	if st == nil {
		return nil
	}
	for _, list := range [][]v1.ContainerStatus{st.ContainerStatuses, st.InitContainerStatuses} {
		for i := range list {
			if s := &list[i]; s.Name == name && bare(s.ContainerID) == id && s.State.Running != nil {
				return s
			}
		}
	}
	return nil
}

// bare returns a container ID without the runtime's prefix.
func bare(id string) string {
	if _, rest, ok := strings.Cut(id, "://"); ok {
		return rest
	}
	return id
}

// podIP returns a pod's primary address, as its status has it; "" if it has none.
//
// Upstream: pkg/kubelet/prober/prober.go, runProbe.
func (p *Prober) podIP(pod *v1.Pod) string {
	if pod.Spec.HostNetwork {
		if ips := p.cfg.HostIPs(); len(ips) > 0 {
			return ips[0]
		}
		return ""
	}
	if s := p.cfg.Observer.Get(pod.UID).Sandbox(); s != nil {
		if ips := podstate.PodIPs(s.IPs, p.cfg.Family); len(ips) > 0 {
			return ips[0]
		}
	}
	return ""
}
