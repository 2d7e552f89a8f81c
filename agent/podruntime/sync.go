package podruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Outcome is the result of a Sync, in addition to its error.
type Outcome struct {
	// Finished says that the pod has finished and should be terminated.
	Finished bool
	// RetryAt is when a back-off ends; zero for none.
	RetryAt time.Time
	// Soon says that something failed that has no back-off of its own, so that RetryAt is not its time.
	Soon bool
	// Acted says that the runtime was called to change something.
	Acted bool
	// Running says that every app container runs, as far as is known now.
	Running bool
	// Early says that nothing was done: the runtime has not yet reported the latest action.
	Early bool
	// Init is the init container that the others wait for; empty for none.
	Init string
}

// Sync syncs a pod with its spec: observe, plan, act. order is the pod's position in the queue for runtime work.
//
// Sync calls publish if the pod's status has changed and there is more to do: its sandbox exists, one of its containers cannot
// run, or all of them will be removed or have been. It must not block, and may be nil.
func (r *Runtime) Sync(ctx context.Context, pod *v1.Pod, order uint64, publish func(context.Context)) (Outcome, error) {
	if at, init := r.tells(pod.UID); !at.IsZero() {
		return Outcome{RetryAt: at, Init: init, Early: true}, nil
	}
	seen, err := r.observe(ctx, pod.UID)
	if err != nil {
		return Outcome{}, err
	}
	plan := Make(r.inputs(pod, seen))
	r.publishDecisions(ctx, pod, plan.Decisions)
	if err := r.possible(ctx, pod, &plan); err != nil {
		return Outcome{RetryAt: time.Now().Add(hopeless)}, err
	}
	if publish != nil && (plan.Reset || beginsAgain(pod, seen)) {
		publish(ctx) // the status tells of the restart before the containers whose exits show it are gone, and of its end before there are new ones
	}
	out := Outcome{Finished: plan.Finished, RetryAt: plan.RetryAt, Acted: plan.acts()}
	run, err := r.execute(ctx, pod, seen, plan, order, publish)
	out.RetryAt, out.Soon = earlier(out.RetryAt, run.retryAt), run.soon
	if err == nil {
		out.Init = plan.Init
		if plan.Reset {
			out.RetryAt = time.Now()
		}
	}
	r.learn(pod.UID, func(k *knowledge) { k.init = out.Init })
	out.Running = !plan.Finished && r.allRunning(pod, seen, run)
	r.setReasons(pod.UID, plan.Waiting, run.reasons)
	return out, err
}

// beginsAgain reports whether the runtime has no containers of a pod whose containers may all have been removed to restart.
func beginsAgain(pod *v1.Pod, seen *podstate.Pod) bool {
	return podspec.CouldRestartAll(&pod.Spec) && (seen == nil || len(seen.Containers) == 0)
}

// inputs collects the current inputs of a plan.
func (r *Runtime) inputs(pod *v1.Pod, seen *podstate.Pod) Inputs {
	now := time.Now()
	in := Inputs{
		Pod: pod, Seen: seen, Now: now, There: r.there(pod), Stopped: r.stoppedOf(pod.UID),
		NotBefore: func(c *v1.Container, last *podstate.Container) time.Time {
			return r.cfg.Backoff.until(keyOf(pod, c), last.FinishedAt, now)
		},
		AfterKill: func(c *v1.Container) time.Time { return r.cfg.Backoff.untilAgain(keyOf(pod, c)) },
		Delay:     func(c *v1.Container) time.Duration { return r.cfg.Backoff.delay(keyOf(pod, c)) },
		Attempt:   func(name string) uint32 { return attemptsLogged(r.cfg.Node.LogRoot, pod, name) },
	}
	if r.resizes() {
		in.Given = func(name string) (v1.ResourceRequirements, bool) { return r.cfg.Resizes.Actuated(pod.UID, name) }
		in.Resizing = r.cfg.Resizes.InProgress(pod.UID)
		if r.cfg.ResizeVolume != nil {
			in.Limit = r.limits(pod.UID)
		}
	}
	if p := r.cfg.Probes; p != nil {
		in.Failed = func(id string) (string, bool) {
			probe, _, failed := p.Failed(id)
			return probe, failed
		}
		in.Started = func(c *v1.Container, id string) bool { return p.Started(pod, c, id) }
	}
	return in
}

// hopeless is when to check a pod again that only an update can fix, and how often its Event is repeated. An update is handled at once.
const hopeless = 5 * time.Minute

// possible returns why a pod without a sandbox can never run, so that it gets neither a sandbox nor images. Its events
// are those of a failed mount.
func (r *Runtime) possible(ctx context.Context, pod *v1.Pod, plan *Plan) error {
	if !plan.has(stepSandbox) || !plan.has("volumes") {
		return nil
	}
	err := r.cfg.Volumes.Check(pod)
	if err == nil {
		return nil
	}
	why := Reason{Reason: "FailedMount", Message: err.Error()}
	all := map[string]Reason{}
	for c := range podspec.Each(pod) {
		all[c.Name] = why
	}
	now, say := time.Now(), !maps.Equal(all, r.Reasons(pod.UID))
	r.learn(pod.UID, func(k *knowledge) {
		if say = say || now.Sub(k.hopelessAt) >= hopeless; say {
			k.hopelessAt = now
		}
	})
	if say {
		r.tell(ctx, pod, "", "Warning", why.Reason, why.Message)
	}
	r.setReasons(pod.UID, all)
	return err
}

// Kill terminates everything of a pod that runs. It returns when nothing runs.
func (r *Runtime) Kill(ctx context.Context, pod *v1.Pod, grace *int64, why string, order uint64) error {
	seen, err := r.observe(ctx, pod.UID)
	if err != nil {
		return err
	}
	plan := MakeKill(pod, seen, r.stoppedOf(pod.UID), grace, why)
	plan.Ending = true
	if len(plan.Steps) > 0 {
		r.learn(pod.UID, func(k *knowledge) { k.noCgroup = false })
	}
	if r.cfg.Claims != nil && r.cfg.Claims.Held(pod.UID) {
		plan.releaseClaims()
	}
	run, err := r.execute(ctx, pod, seen, plan, order, nil)
	if err != nil && ctx.Err() == nil && run.killFailed {
		r.tell(ctx, pod, "", "Warning", "FailedKillPod", "error killing pod: "+err.Error())
	}
	return err
}

// Clean releases the resources of a pod without running containers: volumes, cgroup and the IDs of its user namespace, and with remove its
// containers, logs and directories too.
//
// Upstream: pkg/kubelet/kubelet.go, SyncTerminatedPod.
func (r *Runtime) Clean(ctx context.Context, pod *v1.Pod, remove bool, order uint64) error {
	seen, err := r.observe(ctx, pod.UID)
	if err != nil {
		return err
	}
	noCgroup := false
	r.learn(pod.UID, func(k *knowledge) { noCgroup = k.noCgroup })
	plan := MakeClean(seen, remove, noCgroup)
	plan.Ending = true
	_, err = r.execute(ctx, pod, seen, plan, order, nil)
	r.learn(pod.UID, func(k *knowledge) { k.mounted = false })
	if err == nil && r.cfg.UserNS != nil {
		r.cfg.UserNS.Release(pod.UID)
	}
	return err
}

// Reasons returns the reasons of the pod's waiting containers, by name.
func (r *Runtime) Reasons(uid types.UID) map[string]Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.reasons[uid])
}

func (r *Runtime) setReasons(uid types.UID, sets ...map[string]Reason) {
	all := map[string]Reason{}
	for _, s := range sets {
		maps.Copy(all, s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(all) == 0 {
		delete(r.reasons, uid)
		return
	}
	r.reasons[uid] = all
}

// addReasons adds reasons during a sync; the sync's end replaces them all.
func (r *Runtime) addReasons(uid types.UID, more map[string]Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reasons[uid] == nil {
		r.reasons[uid] = map[string]Reason{}
	}
	maps.Copy(r.reasons[uid], more)
}

// publishDecisions publishes verdicts that differ from the last one of the same container.
func (r *Runtime) publishDecisions(ctx context.Context, pod *v1.Pod, ds []trace.Decision) {
	for _, d := range ds {
		said := string(d.Verdict) + d.Reason
		r.mu.Lock()
		if r.verdicts[pod.UID] == nil {
			r.verdicts[pod.UID] = map[string]string{}
		}
		same := r.verdicts[pod.UID][d.Subject] == said && d.Verdict != trace.VerdictRestart
		r.verdicts[pod.UID][d.Subject] = said
		r.mu.Unlock()
		if same {
			continue
		}
		trace.Point(r.cfg.Bus, trace.FromContext(ctx), d)
		if d.Verdict == trace.VerdictWait {
			r.tell(ctx, pod, d.Subject, "Warning", "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s", d.Subject, formatPod(pod)))
		}
	}
}

// allRunning reports whether each app container runs: observed, or started by this run.
func (r *Runtime) allRunning(pod *v1.Pod, seen *podstate.Pod, run *run) bool {
	current := run.sandboxID
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		if run.started[name] {
			continue
		}
		c := seen.Newest(name)
		if c == nil || c.State != podstate.Running || c.SandboxID != current {
			return false
		}
	}
	return true
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// reasonOf returns the reason that users see for a container that could not start.
func reasonOf(verb trace.Verb, err error) (Reason, time.Time) {
	if img, ok := errors.AsType[*image.Error](err); ok {
		return Reason{Reason: string(img.Reason), Message: img.Message}, img.RetryAt
	}
	if cfg, ok := errors.AsType[*criconfig.Error](err); ok {
		return Reason{Reason: cfg.Reason, Message: cfg.Error()}, time.Time{}
	}
	if hook, ok := errors.AsType[*hookError](err); ok {
		return Reason{Reason: "PostStartHookError", Message: cmp.Or(hook.output, hook.err.Error())}, time.Time{}
	}
	reason := "CreateContainerError"
	if verb == trace.VerbStart {
		reason = "RunContainerError"
	}
	return Reason{Reason: reason, Message: message(err)}, time.Time{}
}

// message returns the runtime's message without the prefix that names the runtime.
func message(err error) string {
	if s, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return s.GRPCStatus().Message()
	}
	return err.Error()
}

// inShort returns the reason of an image that is not available, whose own events have the details, and the message of
// another error.
func inShort(err error) string {
	if img, ok := errors.AsType[*image.Error](err); ok {
		return string(img.Reason)
	}
	return message(err)
}

// pullCheck is when a pod is synced again whose image could not be pulled, if the back-off lasts longer: its status then says
// ImagePullBackOff, and its events do. Upstream's first such sync comes with the next relist, a second later, which shows the new sandbox.
const pullCheck = 2 * time.Second

// checkPull returns when to sync a pod again of which a step failed, with the end of its back-off, zero for none.
func checkPull(err error, retry, now time.Time) time.Time {
	img, ok := errors.AsType[*image.Error](err)
	if check := now.Add(pullCheck); ok && img.Reason == image.ErrImagePull && check.Before(retry) {
		return check
	}
	return retry
}
