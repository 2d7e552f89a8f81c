package podruntime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/stack"
	"github.com/kubeloupe/kubeloupe/trace"
)

// run executes one plan. Steps write only what the steps that need them read, after they have ended, so mu guards only
// the maps.
//
// Many fields: steps use the results of other steps, and a plan does not outlive its run.
type run struct {
	*Runtime
	pod  *v1.Pod
	ref  trace.Pod
	seen *podstate.Pod
	plan Plan
	// publish publishes the pod's status during the run; may be nil.
	publish func(ctx context.Context)
	lease   lease
	gated   bool
	began   time.Time

	sandboxID     string
	sandboxConfig *runtimeapi.PodSandboxConfig // nil if this run creates no sandbox
	podIPs        []string
	changed       sync.Once     // the Event that the sandbox is replaced
	grown         qos.Resources // the limits of the pod's cgroup while its containers are resized
	killFailed    bool          // a container or sandbox could not be stopped
	soon          bool          // a step failed that has no back-off of its own

	mu      sync.Mutex
	volumes map[string]criconfig.Volume
	// requests are the requests that were built, by step.
	requests map[string]*runtimeapi.CreateContainerRequest
	// shown are their copies without secrets.
	shown   map[string]*runtimeapi.CreateContainerRequest
	images  map[string]image.Result
	created map[string]string // container name → id
	started map[string]bool
	said    map[string]bool // containers for which a Killing event was emitted
	reasons map[string]Reason
	retryAt time.Time
	// secretsTold says that the event about missing pull secrets was emitted.
	secretsTold struct {
		sync.Mutex
		done bool
	}
	// lateHooks are the preStop hooks that have exceeded the grace period, by container id.
	lateHooks map[string]preStopHook
}

// execute executes a plan and returns its result. The error joins the errors of failed steps; a step that was skipped
// because another failed has no error.
func (r *Runtime) execute(ctx context.Context, pod *v1.Pod, seen *podstate.Pod, plan Plan, order uint64, publish func(context.Context)) (*run, error) {
	run := &run{
		Runtime: r, pod: pod, ref: podspec.Ref(pod), seen: seen, plan: plan, publish: publish, began: time.Now(),
		lease:    lease{slots: r.cfg.Slots, turn: r.turn(pod, seen, &plan, order), bus: r.cfg.Bus},
		requests: map[string]*runtimeapi.CreateContainerRequest{}, shown: map[string]*runtimeapi.CreateContainerRequest{},
		images: map[string]image.Result{}, created: map[string]string{}, started: map[string]bool{}, said: map[string]bool{}, reasons: map[string]Reason{}, lateHooks: map[string]preStopHook{},
	}
	if s := seen.Sandbox(); s != nil {
		run.sandboxID, run.podIPs = s.ID, s.IPs
	}
	if len(plan.Steps) == 0 {
		return run, nil
	}
	run.gated = r.cfg.Gate != nil && r.cfg.Gate.Holds(run.ref)
	trace.Point(r.cfg.Bus, trace.FromContext(ctx), plan.Trace())
	if plan.has(stepSandbox) && slices.ContainsFunc(plan.Steps, func(s Step) bool { return ends(s.Verb) }) {
		run.sayChanged(ctx)
	}
	err := run.all(ctx)
	run.endAllLate()
	run.lease.drop()
	r.went(pod.UID, &plan, run.lease.overstayed(), err)
	return run, err
}

type progress uint8

const (
	waiting progress = iota
	running
	done
	failed
	skipped
)

type ended struct {
	step int
	err  error
}

// all starts steps as soon as they are ready, until none is left. For a held pod, they run one by one, in the order of
// the plan.
func (r *run) all(ctx context.Context) error {
	state := make([]progress, len(r.plan.Steps))
	index := make(map[string]int, len(r.plan.Steps))
	for i := range r.plan.Steps {
		index[r.plan.Steps[i].ID] = i
	}
	results := make(chan ended, len(r.plan.Steps))
	impatient, stop := r.impatience()
	defer stop()
	var errs []error
	var refused *refusal
	for {
		busy, work := 0, false
		if refused == nil {
			busy, work = r.launch(ctx, state, index, results)
		}
		if !work {
			// No step of this pod needs the runtime now: release the slot for another pod.
			r.lease.drop()
		}
		if busy == 0 {
			if slices.Contains(state, waiting) && ctx.Err() != nil {
				errs = append(errs, fmt.Errorf("cut short: %w", context.Cause(ctx)))
			}
			return errors.Join(errs...)
		}
		var e ended
		select {
		case e = <-results:
		case <-impatient: // the Timeout of a step's After has expired
			continue
		}
		state[e.step] = done
		if e.err != nil {
			state[e.step] = failed
			errs = append(errs, r.note(ctx, &r.plan.Steps[e.step], e.err))
			errors.As(e.err, &refused)
			r.killFailed = r.killFailed || refused == nil && ends(r.plan.Steps[e.step].Verb)
			if _, called := status.FromError(e.err); called {
				r.doubt(r.pod.UID)
			}
		}
	}
}

// launch starts the steps that are ready. It returns how many steps run and whether any of them is runtime work.
func (r *run) launch(ctx context.Context, state []progress, index map[string]int, results chan<- ended) (busy int, work bool) {
	for again := true; again; {
		again = false
		busy, work = 0, false
		for i := range r.plan.Steps {
			s := &r.plan.Steps[i]
			if state[i] == waiting {
				switch next := readiness(s, state, index, time.Since(r.began)); {
				case next == skipped:
					state[i] = skipped
					again = true
				case next == running && (!r.gated || busy == 0) && ctx.Err() == nil:
					state[i] = running
					go func() {
						stack.Grow()
						results <- ended{i, r.do(ctx, s)}
					}()
				}
			}
			if state[i] == running {
				busy++
				work = work || runtimeWork(s.Verb)
			}
		}
	}
	return busy, work
}

// impatience sends when the Timeout of a step expires.
func (r *run) impatience() (<-chan time.Time, func()) {
	var at time.Duration
	for i := range r.plan.Steps {
		at = max(at, time.Duration(r.plan.Steps[i].Timeout)*time.Second)
	}
	if at == 0 {
		return nil, func() {}
	}
	t := time.NewTimer(at)
	return t.C, func() { t.Stop() }
}

// readiness reports whether a waiting step can run now, is skipped, or must wait.
func readiness(s *Step, state []progress, index map[string]int, elapsed time.Duration) progress {
	ready := running
	for _, id := range s.Needs {
		switch state[index[id]] {
		case failed, skipped:
			return skipped
		case waiting, running:
			ready = waiting
		case done:
		}
	}
	if s.Timeout > 0 && elapsed >= time.Duration(s.Timeout)*time.Second {
		return ready
	}
	for _, id := range s.After {
		if st := state[index[id]]; st == waiting || st == running {
			ready = waiting
		}
	}
	return ready
}

// do runs one step: begin, act, end.
func (r *run) do(ctx context.Context, s *Step) error {
	act := trace.Action{ID: s.ID, Verb: s.Verb, Container: s.Container, Ephemeral: podspec.IsEphemeral(r.pod, s.Container), Target: s.Target, Policy: s.Policy, Reason: s.Reason, Replaces: s.Replaces}
	span := trace.Begin(r.cfg.Bus, trace.FromContext(ctx), act)
	ctx = trace.ContextWith(ctx, span)
	err := r.perform(ctx, s)
	if act.Target == "" {
		act.Target = r.targetOf(s)
	}
	if err != nil {
		r.countFailed(ctx, s, err)
		act.Err = err.Error()
		act.Class, act.Missing = trace.Classify(act.Err), trace.MissingIn(act.Err)
		if s.Verb == trace.VerbImage || s.Verb == trace.VerbCreate || s.Verb == trace.VerbStart || s.Verb == trace.VerbPostStart {
			reason, _ := reasonOf(s.Verb, err)
			act.Code = reason.Reason
		}
	}
	trace.End(r.cfg.Bus, span, act)
	return err
}

// act performs the step, in a slot if it is runtime work.
func (r *run) act(ctx context.Context, s *Step) error {
	if !runtimeWork(s.Verb) {
		return r.carryOut(ctx, s)
	}
	if s.Verb == trace.VerbCreate { // the container's files first
		if err := r.prepareCreate(ctx, s); err != nil {
			return err
		}
	}
	task, err := r.lease.begin(ctx, kindOf(r.pod, s, r.lease.large()))
	if err != nil {
		return err
	}
	err = r.carryOut(ctx, s)
	task.end(err)
	return err
}

func (r *run) carryOut(ctx context.Context, s *Step) error {
	switch s.Verb {
	case trace.VerbCgroup:
		return r.ensureCgroup(ctx)
	case trace.VerbDirs:
		return r.makeDirs()
	case trace.VerbVolumes:
		return r.mount(ctx)
	case trace.VerbClaims:
		return r.prepareClaims(ctx)
	case trace.VerbReleaseClaims:
		return r.cfg.Claims.Unprepare(ctx, r.pod.UID)
	case trace.VerbImage:
		return r.ensureImage(ctx, s)
	case trace.VerbSandbox:
		return r.runSandbox(ctx, s)
	case trace.VerbCreate:
		return r.create(ctx, s)
	case trace.VerbStart:
		return r.start(ctx, s)
	case trace.VerbPostStart:
		return r.postStart(ctx, s)
	case trace.VerbPreStop:
		return r.preStop(ctx, s)
	case trace.VerbResize:
		return r.resize(ctx, s)
	case trace.VerbResizePod:
		return r.resizePod(ctx, s)
	case trace.VerbKill:
		return r.kill(ctx, s)
	case trace.VerbStopSandbox:
		return r.stopSandbox(ctx, s)
	case trace.VerbRemove:
		return r.remove(ctx, s)
	case trace.VerbRemoveSandbox:
		return r.removeSandbox(ctx, s)
	case trace.VerbUnmount:
		return r.unmount(ctx)
	case trace.VerbRemoveCgroup:
		return r.removeCgroup(ctx)
	case trace.VerbRemoveDirs:
		return r.removeDirs(ctx)
	}
	return fmt.Errorf("step %s: no such verb", s.ID)
}

// runtimeWork reports whether the step is work for shared resources, so that too much of it at once slows all pods:
// calls that keep the runtime busy, and the cgroup and directories just before them, because those of many pods at once
// would delay the first starts. A kill mostly waits.
func runtimeWork(v trace.Verb) bool {
	switch v {
	case trace.VerbCgroup, trace.VerbDirs, trace.VerbSandbox, trace.VerbCreate, trace.VerbStart, trace.VerbResize, trace.VerbResizePod, trace.VerbStopSandbox, trace.VerbRemove, trace.VerbRemoveSandbox:
		return true
	case trace.VerbVolumes, trace.VerbClaims, trace.VerbReleaseClaims, trace.VerbImage, trace.VerbPostStart, trace.VerbPreStop, trace.VerbKill, trace.VerbUnmount, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
	}
	return false
}

// note keeps the reason of a failed step for users and names the step in the error. A step that was canceled or refused
// says nothing about its container.
func (r *run) note(ctx context.Context, s *Step, err error) error {
	var refused *refusal
	ours := ctx.Err() != nil || errors.As(err, &refused)
	if !ours && (s.Verb == trace.VerbImage || s.Verb == trace.VerbCreate || s.Verb == trace.VerbStart || s.Verb == trace.VerbPostStart) {
		r.blame(s, err)
		if s.Verb == trace.VerbImage {
			reason, _ := reasonOf(s.Verb, err)
			r.say(ctx, "Warning", "Failed", "Error: "+reason.Reason, s.Container)
		}
		r.progress(ctx)
	}
	if !ours {
		r.sayGround(ctx, s, err)
		r.soon = r.soon || !paced(s, err)
	}
	if !ours && (s.Verb == trace.VerbResize || s.Verb == trace.VerbResizePod) {
		r.cfg.Resizes.Failed(ctx, r.pod, message(err))
	}
	return fmt.Errorf("%s: %w", s.ID, err)
}

// paced reports whether a failed step has a back-off of its own, whose end is in retryAt.
func paced(s *Step, err error) bool {
	img, ok := errors.AsType[*image.Error](err)
	return s.Verb == trace.VerbClaims || ok && !img.RetryAt.IsZero()
}

// sayGround emits an event if the cgroup or the directories of a pod could not be created. No container is the cause,
// so no status has this error.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod; pkg/kubelet/events, whose reason for the directories is Failed.
func (r *run) sayGround(ctx context.Context, s *Step, err error) {
	switch s.Verb { //nolint:exhaustive // the others tell by themselves
	case trace.VerbCgroup:
		r.say(ctx, "Warning", "FailedCreatePodContainer", "unable to ensure pod container exists: "+err.Error(), "")
	case trace.VerbDirs:
		r.say(ctx, "Warning", "Failed", "error making pod data directories: "+err.Error(), "")
	}
}

// blame stores the reason, for users, of the containers that cannot run because a step failed.
func (r *run) blame(s *Step, err error) {
	reason, retry := reasonOf(s.Verb, err)
	reason.Message = r.cfg.Secrets.Text(r.ref.UID, reason.Message)
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.prevented(s) {
		r.reasons[name] = reason
	}
	r.retryAt = earlier(r.retryAt, checkPull(err, retry, time.Now()))
	r.addReasons(r.pod.UID, r.reasons)
}

// prevented returns the containers that cannot run because a step failed.
func (r *run) prevented(s *Step) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range r.plan.Steps {
			d := &r.plan.Steps[i]
			// An image's own container is one of those whose creation needs it.
			mine := d == s && s.Verb != trace.VerbImage || d.Verb == trace.VerbCreate && slices.Contains(d.Needs, s.ID)
			if d.Container != "" && mine && !yield(d.Container) {
				return
			}
		}
	}
}

// progress publishes the pod's status during the run.
func (r *run) progress(ctx context.Context) {
	if r.publish != nil {
		r.publish(ctx)
	}
}

func (r *run) targetOf(s *Step) string {
	switch s.Verb { //nolint:exhaustive // only these make something
	case trace.VerbSandbox:
		return r.sandboxID
	case trace.VerbCreate, trace.VerbStart, trace.VerbPostStart:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.created[s.Container]
	}
	return ""
}
