package kubeletlog

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

func syncBegins(why trace.SyncWhy) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		p := f.podOf(e)
		if p == nil {
			return false
		}
		if why != trace.SyncAgain {
			f.ends(p, at)
		}
		f.end(p.sync, at, micros, nil)
		f.endWaits(p, at, func(key string) bool { return key == "retry" || key == "network" || key == waitEarlier })
		p.syncs++
		p.sync = f.begin(p, nil, at, &trace.Sync{Why: why, N: p.syncs})
		return true
	}
}

func (f *Fold) syncEnds(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	if p.sync != nil && !p.ending {
		p.passFrom, p.passTo = p.sync.from, at
	}
	if p.sync != nil && p.told && p.lastStart >= p.sync.from && len(p.waits) == 0 && !p.ending {
		p.passed = at // a pass starts all containers that are to be; the Event of the last start may come a little later
		f.pods.starting[p] = true
	}
	f.end(p.sync, at, micros, nil)
	p.sync = nil
	return true
}

func worker(to trace.WorkerState) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		p := f.podOf(e)
		if p == nil {
			return false
		}
		w := &trace.Worker{}
		switch to {
		case trace.WorkerSyncing:
			w.From, w.To = trace.WorkerNone, trace.WorkerSyncing
		case trace.WorkerTerminating:
			w.From, w.To = trace.WorkerSyncing, trace.WorkerTerminating
			f.ends(p, at)
		case trace.WorkerTerminated:
			w.From, w.To = trace.WorkerTerminating, trace.WorkerTerminated
		case trace.WorkerNone, trace.WorkerGone:
			w.From, w.To = trace.WorkerTerminated, trace.WorkerNone
			if !p.inAPI {
				defer f.isGone(p, at, micros)
			}
		}
		f.point(p, at, micros, w)
		return true
	}
}

func (f *Fold) cgroupRemoved(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	f.was(p, p.sync, at, at, micros, &trace.CgroupOp{Op: trace.CgroupDestroy})
	return true
}

var (
	// failedStep is a part of what a sync's error says: failed to "StartContainer" for "web" with CrashLoopBackOff: "back-off ...".
	failedStep = pattern.New(`failed to "([A-Za-z]{1,40})" for "([^"]+)" with ([A-Za-z]{1,60}): ("(?:[^"\\]|\\.)*"?)`)
	imageIn    = pattern.New(`(?:image|Back-off pulling image) \\?"([^"\\]+)`)
)

// maxError bounds how much of an error is looked at.
const maxError = 16 << 10

// syncFailed is the error of a worker's pass: what failed, and what the pod waits for now.
func (f *Fold) syncFailed(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		p = f.unnamed(e.Get("podUID"))
	}
	if p == nil && e.Cut { // a pager cut the line before it names the pod; the error may
		p = f.named(legacyIn.FindString(trace.Clip(e.Get("err"), maxError)), "")
	}
	if p == nil {
		return false
	}
	err := trace.Clip(e.Get("err"), maxError)
	if p.sync != nil {
		s := trace.Sync{Why: trace.SyncAgain}
		if b, ok := p.sync.event.(*trace.Sync); ok {
			s = *b
		}
		s.Err = err
		f.end(p.sync, at, micros, &s)
		p.sync = nil
	} else {
		f.was(p, nil, at, at, micros, &trace.Sync{Why: trace.SyncRetry, Err: err})
	}
	delete(f.pods.starting, p)
	p.fresh, p.passed, p.passTo, p.noBox, p.asked = true, 0, 0, "", 0
	steps := failedStep.FindAllStringSubmatch(err, 32)
	if f.isKilled(p, steps, err) {
		f.ends(p, at)
	}
	f.endWaits(p, at, func(key string) bool { return key == "retry" || len(steps) > 0 && key == "network" })
	if strings.HasPrefix(err, "network is not ready") {
		if p.waits["network"] == nil {
			p.waits["network"] = f.begin(p, nil, at, &trace.Wait{
				For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetNetwork}, Reason: "NetworkPluginNotReady", Cause: err, Class: trace.FailNetwork,
			})
		}
		return true
	}
	if len(steps) == 0 {
		if strings.Contains(err, "unmounted volumes=") {
			f.volumesErr(p, at, err)
		}
		if code := codeOf(err); strings.HasPrefix(err, "rpc error: ") && (code == "DeadlineExceeded" || code == "Unavailable") {
			// The worker has asked for what the PLEG knows of the pod: the runtime did not say.
			p.waits["retry"] = f.begin(p, nil, at, &trace.Wait{
				For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetLatestAction}, Cause: err, Class: trace.Classify(err),
			})
			return true
		}
		f.retry(p, at, err)
		return true
	}
	if f.level < 1 { // its volumes were there
		f.volumesDone(p, at)
	}
	for _, m := range steps {
		f.stepFailed(p, at, m[1], strings.ReplaceAll(m[2], " ", ""), m[3], unquoted(m[4])) // spaces are from who folded the line
	}
	return true
}

func unquoted(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`)
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, " ").Replace(s)
}

// isKilled reports whether what failed was the killing of a pod that ends. A pod that goes on is killed too, for a new sandbox: then the
// plan says so before, or a line with the same error.
func (f *Fold) isKilled(p *pod, steps [][]string, err string) bool {
	if p.why != "" || slices.Contains(f.renewals, err) {
		return false
	}
	return !slices.ContainsFunc(steps, func(m []string) bool { return m[1] != "KillPodSandbox" && m[1] != "KillContainer" }) &&
		slices.ContainsFunc(steps, func(m []string) bool { return m[1] == "KillPodSandbox" })
}

// maxRenewals is how many errors of killings for a new sandbox are remembered.
const maxRenewals = 16

// renewing is the killing of a pod for a new sandbox, which failed. It names no pod: the pass's error, which follows, is the same.
func (f *Fold) renewing(e *klog.Entry, _ int64) bool {
	f.renewals = append(f.renewals[max(len(f.renewals)-maxRenewals+1, 0):], trace.Clip(e.Get("err"), maxError))
	return false
}

// retry is the worker's pause after an error, one for all that failed in a pass. It ends with the next pass that is seen.
func (f *Fold) retry(p *pod, at int64, err string) {
	if p.waits["retry"] != nil {
		return
	}
	p.waits["retry"] = f.begin(p, nil, at, &trace.Wait{
		For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: err, Class: trace.Classify(err), Plugin: trace.PluginIn(err),
	})
}

// stepFailed is one of the steps of a pass that failed, by the kubelet's names.
func (f *Fold) stepFailed(p *pod, at int64, step, of, reason, err string) {
	class := trace.Classify(reason + ": " + err)
	switch step {
	case "StartContainer":
		if of == "POD" { // what sandboxes were called once
			f.sandboxErr(p, at, reason+": "+err)
			f.retry(p, at, reason+": "+err)
			return
		}
		f.startFailed(p, at, p.container(of), reason, err, class)
	case "CreatePodSandbox":
		f.sandboxErr(p, at, err)
		f.retry(p, at, err)
	case "KillContainer":
		c := p.container(of)
		a := &trace.Action{ID: "kill " + of, Verb: trace.VerbKill, Container: of, Err: err, Class: class}
		f.called(p, at, "StopContainer", err)
		if c.kill != nil {
			f.end(c.grace, at, micros, nil)
			f.end(c.kill, at, micros, a)
			c.kill, c.grace = nil, nil
		} else {
			f.was(p, p.sync, at, at, micros, a)
		}
		f.retry(p, at, err)
	case "KillPodSandbox":
		f.called(p, at, "StopPodSandbox", err)
		f.was(p, p.sync, at, at, micros, &trace.Action{ID: "stop-sandbox", Verb: trace.VerbStopSandbox, Err: err, Class: class})
		f.retry(p, at, err)
	default:
		f.retry(p, at, err)
	}
}

// called is a call to the runtime that failed, of which the log has the end alone.
func (f *Fold) called(p *pod, at int64, method, err string) {
	class := trace.Classify(err)
	if rpcCode.MatchString(err) || class == trace.FailDeadline || class == trace.FailNameReserved {
		f.was(p, p.sync, at, at, micros, &trace.CRICall{Method: method, Code: codeOf(err), Err: err, Class: class, Plugin: trace.PluginIn(err)})
	}
}

// startFailed is a container that could not be started, or has to wait.
func (f *Fold) startFailed(p *pod, at int64, c *container, reason, err string, class trace.FailureClass) {
	key := "container " + c.name
	w := &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: c.name}, Reason: reason, Cause: err, Class: class}
	if m := imageIn.FindStringSubmatch(err); m != nil {
		c.target = m[1]
	}
	waiting := reason == "CrashLoopBackOff" || reason == "ImagePullBackOff"
	switch reason {
	case "CreateContainerError":
		f.called(p, at, "CreateContainer", err)
	case "RunContainerError":
		f.called(p, at, "StartContainer", err)
	}
	switch {
	case reason == "CrashLoopBackOff":
		f.decide(p, at, c, trace.ByRestart, err)
	case reason == "ImagePullBackOff":
		f.decide(p, at, c, trace.ByBackoff, err)
		if c.image != nil { // the pass came as far as this
			f.end(c.image, at, micros, &trace.Action{ID: "image " + c.name, Verb: trace.VerbImage, Container: c.name, Target: c.target, Code: reason, Err: firstOf(c.lastErr, err), Class: trace.ClassifyPull(firstOf(c.lastErr, err))})
			c.image = nil
		} else if c.lastErr == "" { // the log begins after the pull that failed
			f.imageEnds(p, c, at, reason, err)
		}
	case class.Of(trace.FailImage) || c.image != nil:
		f.imageEnds(p, c, at, reason, err)
	case c.start != nil:
		f.end(c.start, at, micros, &trace.Action{ID: "start " + c.name, Verb: trace.VerbStart, Container: c.name, Code: reason, Err: err, Class: class, Missing: trace.MissingIn(err)})
	case c.create != nil:
		f.end(c.create, at, micros, &trace.Action{ID: "create " + c.name, Verb: trace.VerbCreate, Container: c.name, Code: reason, Err: err, Class: class, Missing: trace.MissingIn(err)})
	case reason == "RunContainerError" || reason == "PostStartHookError":
		f.was(p, p.sync, at, at, micros, &trace.Action{ID: "start " + c.name, Verb: trace.VerbStart, Container: c.name, Code: reason, Err: err, Class: class, Missing: trace.MissingIn(err)})
	default:
		f.was(p, p.sync, at, at, micros, &trace.Action{ID: "create " + c.name, Verb: trace.VerbCreate, Container: c.name, Code: reason, Err: err, Class: class, Missing: trace.MissingIn(err)})
	}
	c.create, c.start = nil, nil
	f.isDown(p, c, reason, at)
	if old := p.waits[key]; old != nil {
		if b, ok := old.event.(*trace.Wait); ok && waiting && b.Reason == reason {
			return // it goes on
		}
		f.end(old, at, micros, nil)
	}
	if len(p.waits) < maxWaits {
		p.waits[key] = f.begin(p, nil, at, w)
	}
}

var backoffOf = pattern.New(`(?i)back-off ([0-9hms.]{1,12}) restarting`)

// decide is the verdict that a container has to wait.
func (f *Fold) decide(p *pod, at int64, c *container, by trace.Decider, err string) {
	d := &trace.Decision{By: by, Subject: c.name, Verdict: trace.VerdictWait, Reason: err}
	if by == trace.ByRestart {
		if m := backoffOf.FindStringSubmatch(err); m != nil {
			d.Inputs = append(d.Inputs, trace.KV{K: "backoff", V: m[1]})
		}
		d.ExitCode = p.exitOf()
	} else {
		if c.target != "" {
			d.Subject = c.target
		}
		d.Cause = trace.Clip(c.lastErr, 1024)
	}
	f.point(p, at, micros, d)
}

// endWaits ends those of a pod's waits that wanted selects; nil selects all.
func (f *Fold) endWaits(p *pod, at int64, wanted func(key string) bool) {
	if len(p.waits) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(p.waits)) {
		w := p.waits[key]
		if wanted == nil || wanted(key) {
			to := at
			if e, ok := w.event.(*trace.Wait); ok && e.Until != 0 && wanted == nil {
				to = min(to, e.Until)
			}
			f.end(w, to, micros, nil)
			delete(p.waits, key)
		}
	}
}

// backoff is V3's line of a container that has to wait; the pass's error, which follows, says the same.
func (f *Fold) backoff(*klog.Entry, int64) bool { return false }

func (f *Fold) denied(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	why := strings.TrimRight(firstOf(e.Get("message"), e.Get("err"), e.Get("reason")), ". ")
	if conditions, ok := strings.CutPrefix(why, "The node had condition: "); ok && e.Get("reason") == "Evicted" {
		f.refused(p, at, why, conditions)
		return true
	}
	f.point(p, at, micros, &trace.Decision{By: trace.ByAdmission, Subject: p.id.String(), Verdict: trace.VerdictReject, Code: e.Get("reason"), Reason: why})
	return true
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// isDown says of a pod that was up that a container of it does not run.
func (f *Fold) isDown(p *pod, c *container, reason string, at int64) {
	if !p.started || p.ending {
		return
	}
	if f.pods.readying[p] {
		f.readied(p)
	}
	p.down = true
	f.point(p, at, micros, &trace.PodStatus{
		Total: max(len(p.containers), 1), Containers: []trace.ContainerStatus{{Name: c.name, Init: c.init, State: trace.ContainerWaiting, Reason: reason}},
	})
}

// isBack says of a pod that a container of it was started again, and runs since: one that ends right away is not back.
func (f *Fold) isBack(p *pod, at int64) {
	delete(f.pods.backing, p)
	if p.down && !p.ending {
		p.down = false
		n := max(len(p.containers), 1)
		f.point(p, at, relist, &trace.PodStatus{Ready: n, Total: n})
	}
}
