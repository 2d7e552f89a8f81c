package podruntime

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// initContainers plans the init containers in order and reports whether the app containers may start. If an init
// container is in the sandbox, those before it are done, even if the runtime no longer has them.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, computeInitContainerActions.
func (p *planner) initContainers() bool {
	reached := p.initReached()
	for i := range p.Pod.Spec.InitContainers {
		c := &p.Pod.Spec.InitContainers[i]
		cur := p.inSandbox(c.Name)
		if podspec.RestartableInit(c) {
			first := i >= reached
			if !p.keepSidecar(c, cur, first) && first {
				return false
			}
			continue
		}
		if i < reached {
			continue
		}
		if !p.initDone(c, cur) {
			p.Init = c.Name
			return false
		}
	}
	return true
}

// initReached returns the index of the newest init container in the sandbox, or the number of init containers if an app
// container exists.
func (p *planner) initReached() int {
	if p.anyAppCreated() {
		return len(p.Pod.Spec.InitContainers)
	}
	for i := len(p.Pod.Spec.InitContainers) - 1; i > 0; i-- {
		if p.inSandbox(p.Pod.Spec.InitContainers[i].Name) != nil {
			return i
		}
	}
	return 0
}

// initDone plans an init container that is not a sidecar and reports whether it is done.
func (p *planner) initDone(c *v1.Container, cur *podstate.Container) bool {
	switch {
	case cur == nil:
		p.startNext(c, "next init container")
	case cur.State == podstate.Created:
		p.startCreated(c, cur)
	case cur.State == podstate.Running:
		p.running++
		if p.resizeOf(c) != resizeNone {
			p.update(c, cur)
		}
	case cur.State == podstate.Unknown && !restarts(p.Pod, c, cur):
		p.fail(c, cur, "its state is unknown")
	case cur.State == podstate.Unknown:
		p.start(c, "its state was unknown", p.killUnknown(cur, "Init container")...)
	case cur.ExitCode == 0:
		return true
	case !restarts(p.Pod, c, cur):
		p.fail(c, cur, "it failed")
	default:
		p.restart(c, cur, "init container failed")
	}
	return false
}

// startNext starts an init container that the current sandbox does not have, and reports whether it does: one that has exited in an earlier
// sandbox may have to wait for its back-off.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff.
func (p *planner) startNext(c *v1.Container, why string) bool {
	if last := lastExited(p.Seen, c.Name); last != nil {
		if until := p.NotBefore(c, last); until.After(p.Now) {
			p.pending++
			p.backOff(c, last, "it ended with its sandbox", until)
			return false
		}
	}
	p.start(c, why)
	return true
}

// fail ends the pod because an init container failed permanently. Sidecars are not kept either.
func (p *planner) fail(c *v1.Container, cur *podstate.Container, why string) {
	p.running, p.pending = 0, 0
	p.decide(c, cur, trace.VerdictLeave, why+" and restartPolicy is "+policyOf(p.Pod, c)+": the pod has failed")
}

func (p *planner) anyAppCreated() bool {
	for i := range p.Pod.Spec.Containers {
		if p.inSandbox(p.Pod.Spec.Containers[i].Name) != nil {
			return true
		}
	}
	return false
}

// keepSidecar keeps a restartable init container running, whatever its exit code, and reports whether those after it
// may start. In the plan that starts it, they may if it has no startup probe. first says that those after it have not been reached yet.
func (p *planner) keepSidecar(c *v1.Container, cur *podstate.Container, first bool) bool {
	switch {
	case cur == nil:
		return p.startNext(c, "sidecar") && p.through(c, first)
	case cur.State == podstate.Created:
		p.startCreated(c, cur)
		return p.through(c, first)
	case cur.State == podstate.Running && !p.keep(c, cur, "Init container"):
		return false
	case cur.State == podstate.Running && p.Started != nil && !p.Started(c, cur.ID):
		p.Init = c.Name
		p.running++
		return false
	case cur.State == podstate.Running:
		return true
	case cur.State == podstate.Unknown:
		p.start(c, "its state was unknown", p.killUnknown(cur, "Init container")...)
		return false
	}
	p.restart(c, cur, "sidecar ended")
	return false
}

// through lets what follows a sidecar start in the same plan, unless the sidecar has a startup probe. What follows its first start needs that
// it succeeds; a sidecar that went missing later blocks nothing.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, SyncPod, step 8.
func (p *planner) through(c *v1.Container, first bool) bool {
	if c.StartupProbe != nil {
		return false
	}
	if first {
		p.base = append(p.base, p.lastStart)
	}
	return true
}

// appContainers plans each app container independently.
func (p *planner) appContainers() {
	for i := range p.Pod.Spec.Containers {
		c := &p.Pod.Spec.Containers[i]
		cur := p.inSandbox(c.Name)
		switch {
		case cur == nil:
			p.startMissing(c)
		case cur.State == podstate.Created:
			p.startCreated(c, cur)
		case cur.State == podstate.Running:
			if p.keep(c, cur, "Container") {
				p.running++
			}
		case cur.State == podstate.Unknown:
			kills := p.killUnknown(cur, "Container")
			if restarts(p.Pod, c, cur) {
				p.start(c, "its state was unknown", kills...)
			} else {
				p.decide(c, cur, trace.VerdictLeave, "its state is unknown and restartPolicy is "+policyOf(p.Pod, c))
			}
		case !restarts(p.Pod, c, cur):
			p.decide(c, cur, trace.VerdictLeave, fmt.Sprintf("restartPolicy %s: ended with exit code %d", policyOf(p.Pod, c), cur.ExitCode))
		default:
			p.restart(c, cur, "it ended with exit code "+strconv.Itoa(int(cur.ExitCode)))
		}
	}
}

// startMissing starts a container that the current sandbox does not have.
func (p *planner) startMissing(c *v1.Container) {
	last := p.Seen.Newest(c.Name)
	switch {
	case last == nil:
		p.start(c, "not there")
	case !restarts(p.Pod, c, last):
		p.decide(c, last, trace.VerdictLeave, "it ended in an earlier sandbox and restartPolicy is "+policyOf(p.Pod, c))
	case last.State != podstate.Exited:
		p.start(c, "not there")
	default:
		p.restart(c, last, "it ended with its sandbox")
	}
}

// restart restarts a container, or waits for its back-off.
func (p *planner) restart(c *v1.Container, last *podstate.Container, why string) {
	if until := p.NotBefore(c, last); until.After(p.Now) {
		p.pending++
		p.backOff(c, last, why, until)
		return
	}
	p.decide(c, last, trace.VerdictRestart, why)
	if p.Why == "" {
		p.Why = "container " + c.Name + ": " + why
	}
	p.start(c, why)
}

// backOff does not change a container until its back-off ends.
func (p *planner) backOff(c *v1.Container, last *podstate.Container, why string, until time.Time) {
	delay := until.Sub(p.Now)
	if p.Delay != nil {
		delay = p.Delay(c)
	}
	p.wait(c.Name, Reason{Reason: crashLoop, Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s",
		delay.Round(time.Second), c.Name, formatPod(p.Pod))})
	p.RetryAt = earlier(p.RetryAt, until)
	p.decide(c, last, trace.VerdictWait, fmt.Sprintf("%s; crash-loop back-off until %s", why, until.Format(time.TimeOnly))).Until = until.UnixNano()
}

// start plans the pull, creation and start of a new attempt. before are steps that must succeed first.
func (p *planner) start(c *v1.Container, why string, before ...string) {
	p.pending++
	var attempt uint32
	if newest := p.Seen.Newest(c.Name); newest != nil { // maybe in another sandbox: names must differ
		attempt = newest.Attempt + 1
	} else if p.Attempt != nil {
		attempt = p.Attempt(c.Name)
	}
	before = append(before, p.killStrays(c.Name)...)
	image := imageID(p.Pod, c)
	if !p.has(image) {
		var needs []string
		if p.There.Claims == ClaimsFailed && p.has(stepClaims) {
			needs = []string{stepClaims} // else each attempt would report the image again
		}
		p.add(Step{ID: image, Verb: trace.VerbImage, Needs: needs, Container: c.Name, Target: c.Image, Policy: trace.PullPolicy(c.ImagePullPolicy), Reason: string(c.ImagePullPolicy)})
	}
	needs := append(append([]string(nil), p.base...), image)
	create := p.add(Step{
		ID: "create " + c.Name, Verb: trace.VerbCreate, Needs: append(needs, before...), After: slices.Clone(p.grow),
		Container: c.Name, Attempt: attempt, Reason: why,
	})
	p.addStart(c, Step{ID: "start " + c.Name, Verb: trace.VerbStart, Needs: []string{create}, Container: c.Name, Attempt: attempt})
}

// startCreated starts a container that was created but not started, because the agent was killed between the two.
func (p *planner) startCreated(c *v1.Container, cur *podstate.Container) {
	p.pending++
	if p.Why == "" {
		p.Why = "container " + c.Name + " is created and not started"
	}
	p.addStart(c, Step{
		ID: "start " + c.Name, Verb: trace.VerbStart, Needs: append(append([]string(nil), p.base...), p.killStrays(c.Name)...),
		Container: c.Name, Target: cur.ID, Attempt: cur.Attempt, Reason: "created, not started",
	})
}

// addStart keeps the starts in the order of the spec: a later container may rely on the start of an earlier one,
// including its hook. It does not wait for the success of that.
func (p *planner) addStart(c *v1.Container, s Step) {
	if p.lastStart != "" {
		s.After = append(s.After, p.lastStart)
	}
	p.lastStart = p.add(s)
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		p.lastStart = p.add(Step{ID: "post-start " + c.Name, Verb: trace.VerbPostStart, Needs: []string{s.ID}, Container: c.Name, Attempt: s.Attempt})
	}
}

// killStrays kills containers of that name that run in an earlier sandbox, so that no two run at once.
func (p *planner) killStrays(name string) []string {
	if p.sandbox == nil {
		return nil // all are killed before the new sandbox is created
	}
	var ids []string
	for i := range p.Seen.Containers {
		c := &p.Seen.Containers[i]
		if c.Name == name && c.SandboxID != p.sandbox.ID && (c.State == podstate.Running || c.State == podstate.Unknown) {
			ids = append(ids, p.kill(c, Step{Grace: podspec.ContainerGracePeriod(p.Pod), Reason: "it runs in an earlier sandbox"}))
		}
	}
	return ids
}

func (p *planner) decide(c *v1.Container, last *podstate.Container, verdict trace.Verdict, reason string) *trace.Decision {
	p.Decisions = append(p.Decisions, trace.Decision{
		By: trace.ByRestart, Subject: c.Name, Verdict: verdict, Reason: reason, ExitCode: new(last.ExitCode), Attempt: int(last.Attempt),
		Inputs: []trace.KV{
			{K: "restartPolicy", V: policyOf(p.Pod, c)},
			{K: "container", V: shortID(last.ID)},
		},
	})
	return &p.Decisions[len(p.Decisions)-1]
}

// crashLoop is the reason of a container that waits for its back-off.
const crashLoop = "CrashLoopBackOff"

// formatPod returns a pod's name in the format of upstream's messages. Upstream: pkg/kubelet/util/format/pod.go, Pod.
func formatPod(pod *v1.Pod) string { return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID) }
