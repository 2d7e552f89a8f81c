package podruntime

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Inputs are everything that a plan depends on.
type Inputs struct {
	Pod  *v1.Pod
	Seen *podstate.Pod
	Now  time.Time
	// NotBefore gives the end of the crash-loop back-off of a container that exited, AfterKill that of a running one whose probe failed.
	NotBefore func(c *v1.Container, last *podstate.Container) time.Time
	AfterKill func(c *v1.Container) time.Time
	// Delay is the delay of a container's back-off, for users; nil means the rest of it.
	Delay func(c *v1.Container) time.Duration
	// There is what all containers of a pod share. It is checked before each plan: other programs can remove it, and an earlier attempt may
	// have failed.
	There There
	// Stopped are the sandboxes that this agent has stopped, with their networks.
	Stopped map[string]bool
	// Failed returns the probe whose failure requires that a running container is killed; nil means no probes.
	Failed func(id string) (probe string, failed bool)
	// Started reports whether a running container has passed its startup probe; nil means that all have.
	Started func(c *v1.Container, id string) bool
	// Given returns the resources that a container was last given, or the pod for ""; nil for no resizes.
	Given func(container string) (v1.ResourceRequirements, bool)
	// Resizing says that a resize was allocated and is not known to be complete, also if all containers have what they should have: it was
	// reverted, or they were created meanwhile.
	Resizing bool
	// Limit returns the size limit that a volume in memory has; nil if limits do not change.
	Limit func(volume string) (resource.Quantity, bool)
	// Attempt counts the earlier attempts of a container that the runtime has no record of; nil means 0.
	Attempt func(container string) uint32
}

// There is the state of what all containers of a pod share. It is checked before each plan, because others may remove it, and
// earlier actions may have failed.
type There struct {
	// Cgroup says that the pod's cgroup and its parents exist with their limits.
	Cgroup bool
	// Dirs says that the pod's directories exist.
	Dirs bool
	// Volumes says that this agent has set up the volumes, and that they still exist.
	Volumes bool
	// Claims says whether the pod has ResourceClaims, and whether they are known to be prepared.
	Claims ClaimState
}

// ClaimState is the state of a pod's ResourceClaims.
type ClaimState uint8

// The states.
const (
	ClaimsNone    ClaimState = iota // the pod has no claims
	ClaimsReady                     // its containers can be created in the sandbox that it has
	ClaimsUnready                   // they are not known to be prepared
	ClaimsFailed                    // the last attempt to prepare them failed
)

// planner builds one plan.
type planner struct {
	Inputs
	Plan
	sandbox   *podstate.Sandbox // the current one; nil if a new one is created
	ground    []string          // the steps that a sandbox needs
	base      []string          // the steps that each create needs besides its image
	lastStart string            // app containers start in the order of the spec
	running   int
	pending   int // containers that start now or later
	ending    int // app containers that are killed and do not start again

	grow    []string // the step that enlarges the pod's cgroup, if any
	resized []string // the steps that change the resources of running containers
}

// Make plans the actions from the observed state of the pod to the desired state.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions.
func Make(in Inputs) Plan {
	p := &planner{Inputs: in}
	if p.resets() { // whatever became of the sandbox: the next plan replaces it
		return p.reset()
	}
	current, fault, why := sandboxFor(in.Pod, in.Seen)
	if current == nil && !p.anyWanted() {
		return finished(nil)
	}
	p.sandbox = current
	p.prepare()
	p.claims(current == nil)
	if current == nil {
		p.Why = why
		p.newSandbox(fault, why)
	} else {
		p.growFirst()
		p.ephemeralContainers()
	}
	if p.initContainers() {
		p.running, p.pending = 0, 0 // sidecars alone do not keep a pod running
		p.appContainers()
	}
	switch {
	case p.running > 0 || p.pending > 0:
	case p.ending > 0:
		return p.end()
	default:
		return finished(p.Decisions)
	}
	p.settleLast()
	p.dropUnneeded(stepClaims)
	return p.Plan
}

// finished is the plan of a finished pod: terminate what is left of it.
func finished(d []trace.Decision) Plan {
	return Plan{Why: "all containers have ended and none restarts", Finished: true, Decisions: d}
}

// end stops everything of a pod whose last containers are killed and do not start again: with the pod's grace period, also what is killed for
// its probe. The next plan sees their exit codes, and finishes the pod.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions (KillPod).
func (p *planner) end() Plan {
	p.Plan = Plan{Why: p.Why, Decisions: p.Decisions}
	p.stopAll("no container is left to keep or to start")
	return p.Plan
}

// prepare creates what the containers of a pod share, if it is missing. It must succeed before a sandbox or a container
// is created: the runtime would create a missing cgroup without limits. Only volumes are mounted while the sandbox is
// created.
func (p *planner) prepare() {
	if !p.There.Cgroup {
		p.base = append(p.base, p.add(Step{ID: stepCgroup, Verb: trace.VerbCgroup}))
	}
	if !p.There.Dirs {
		p.base = append(p.base, p.add(Step{ID: stepDirs, Verb: trace.VerbDirs}))
	}
	p.ground = slices.Clone(p.base)
	if !p.There.Volumes {
		var needs []string
		if !p.There.Dirs {
			needs = []string{stepDirs}
		}
		p.base = append(p.base, p.add(Step{ID: "volumes", Verb: trace.VerbVolumes, Needs: needs}))
	}
}

// claims has the pod's claims prepared before its sandbox, whose network may depend on them, and before its containers.
func (p *planner) claims(sandbox bool) {
	if p.There.Claims == ClaimsNone || p.There.Claims == ClaimsReady && !sandbox {
		return
	}
	id := p.add(Step{ID: stepClaims, Verb: trace.VerbClaims})
	p.ground, p.base = append(p.ground, id), append(p.base, id)
}

// dropUnneeded removes a step that no other step needs.
func (p *planner) dropUnneeded(id string) {
	for i := range p.Steps {
		if slices.Contains(p.Steps[i].Needs, id) {
			return
		}
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return s.ID == id })
}

// The steps that every sandbox needs.
const (
	stepCgroup  = "cgroup"
	stepDirs    = "dirs"
	stepClaims  = "claims"
	stepSandbox = "sandbox"
)

// sandboxFor returns the sandbox to use, or nil. If nil, it also returns what is wrong with the newest one, if there is
// one, and a reason for people.
//
// Upstream: pkg/kubelet/kuberuntime/util/util.go, PodSandboxChanged.
func sandboxFor(pod *v1.Pod, seen *podstate.Pod) (_ *podstate.Sandbox, fault trace.SandboxFault, why string) {
	newest := seen.Sandbox()
	if newest == nil {
		return nil, "", "no sandbox"
	}
	ready := 0
	for _, s := range seen.Sandboxes {
		if s.Ready {
			ready++
		}
	}
	switch {
	case !newest.Ready:
		return nil, trace.SandboxNotReady, "sandbox " + shortID(newest.ID) + " is not ready"
	case ready > 1:
		return nil, trace.SandboxSurplus, fmt.Sprintf("%d sandboxes are ready, one is right", ready)
	case newest.HostNetwork != pod.Spec.HostNetwork:
		return nil, trace.SandboxNetwork, "the network namespace changed"
	case !pod.Spec.HostNetwork && len(newest.IPs) == 0:
		return nil, trace.SandboxNoAddress, "sandbox " + shortID(newest.ID) + " has no address"
	}
	return newest, "", ""
}

// anyWanted reports whether any container should run again, so that a new sandbox is needed. Containers of the lost
// sandbox count by their last exit. If no container restarts, the loss of the sandbox ends the pod.
//
// Upstream: computePodActions, where a sandbox is created.
func (p *planner) anyWanted() bool {
	if p.Seen == nil || len(p.Seen.Containers) == 0 {
		return true
	}
	if p.Pod.Spec.RestartPolicy == v1.RestartPolicyNever && p.Seen.Sandbox() != nil {
		return false
	}
	for i := range p.Pod.Spec.Containers {
		c := &p.Pod.Spec.Containers[i]
		if last := p.Seen.Newest(c.Name); last == nil || restarts(p.Pod, c, last) {
			return true
		}
	}
	return false
}

// newSandbox stops what is left of the old sandbox and creates the next.
func (p *planner) newSandbox(fault trace.SandboxFault, why string) {
	needs := append(slices.Clone(p.ground), p.stopAll("the sandbox is replaced")...)
	var attempt uint32
	if old := p.Seen.Sandbox(); old != nil {
		attempt = old.Attempt + 1
	}
	p.base = append(p.base, p.add(Step{ID: stepSandbox, Verb: trace.VerbSandbox, Needs: needs, Attempt: attempt, Reason: why, Replaces: fault}))
}

// stopAll kills every container that may run, then stops every sandbox that this agent has not stopped.
func (p *planner) stopAll(why string) []string {
	return stopAll(&p.Plan, p.Pod, p.Seen, p.Stopped, podspec.ContainerGracePeriod(p.Pod), why)
}

// inSandbox returns the newest container of that name in the current sandbox.
func (p *planner) inSandbox(name string) *podstate.Container {
	if p.sandbox == nil || p.Seen == nil {
		return nil
	}
	for i := range p.Seen.Containers {
		if c := &p.Seen.Containers[i]; c.Name == name && c.SandboxID == p.sandbox.ID {
			return c
		}
	}
	return nil
}

func changed(c *v1.Container, seen *podstate.Container) bool {
	return seen.HasHash && seen.Hash != criconfig.Hash(c)
}

// imageID returns the ID of the step that pulls a container's image. Containers share it if their pull policies are
// equal.
func imageID(pod *v1.Pod, c *v1.Container) string {
	id := "image " + c.Image
	for o := range podspec.Each(pod) {
		if o.Image == c.Image && o.ImagePullPolicy != c.ImagePullPolicy {
			return id + " " + string(c.ImagePullPolicy)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if o := &pod.Spec.EphemeralContainers[i]; o.Image == c.Image && o.ImagePullPolicy != c.ImagePullPolicy {
			return id + " " + string(c.ImagePullPolicy)
		}
	}
	return id
}
