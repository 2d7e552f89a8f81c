package cause

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// stuckFor is how long a step of a pod's end takes that is stuck.
const stuckFor = 5 * time.Second

func stuckTerminating() Rule {
	return Rule{
		ID: "KL17", Name: "stuck terminating",
		About: "One step delays the pod's termination: a preStop hook or a container that uses up its whole grace period, or any other step (the sandbox, " +
			"volumes, the cgroup, directories, the API server, a finalizer) that takes 5 s or more, including failed attempts, or, likely, one that " +
			"fails where a kubelet's log ends. A container that " +
			"ends within its grace period is not stuck; nor is a pod that has finished and that nobody deletes.",
		Find: findStuckTerminating,
	}
}

// endStep is one step of the pod's end, with all its tries.
type endStep struct {
	from, to time.Time
	stopped  time.Duration // of it, how long the agent did not run
	what     string
	remedy   string
	open     bool // it goes on, or will be tried again
	unsure   bool
	evidence []Evidence
}

func (s *endStep) dur() time.Duration { return s.to.Sub(s.from) - s.stopped }

func findStuckTerminating(c *Case) []Finding {
	ends := c.endStretch()
	if len(ends) == 0 {
		return nil
	}
	var worst *endStep
	for _, s := range append(c.endActions(ends[0]), c.endInAPI(ends[0])...) {
		if worst == nil || s.dur() > worst.dur() {
			worst = &s
		}
	}
	if worst == nil {
		return nil
	}
	f := Finding{
		Confidence: Certain, Cost: worst.dur(), End: ends[0].to.Sub(ends[0].from), Current: worst.open && c.milestone(trace.MilestoneGone) == nil,
		Evidence: few(append([]Evidence{evidence(c.milestone(trace.MilestoneTerminating), "the pod began to terminate")}, worst.evidence...)), Remedy: worst.remedy,
		RuledOutBy: "The step is quick when it is done manually, or another step caused the delay.",
	}
	if worst.unsure {
		f.Confidence = Likely
	}
	verb := "was delayed by"
	if f.Current {
		verb = "is stuck in"
	}
	f.Sentence = fmt.Sprintf("its termination %s %s: %s", verb, worst.what, took(worst.dur(), f.Current))
	return []Finding{f}
}

// endActions are the steps of the pod's end that took too long, their tries taken together.
func (c *Case) endActions(end stretch) (out []endStep) {
	for _, tries := range c.endTries(end) {
		last := &tries[len(tries)-1]
		failing := last.Err() != "" && c.milestone(trace.MilestoneGone) == nil
		s := endStep{from: tries[0].Start, to: last.Stop, open: last.Open || failing}
		if s.open {
			s.to = c.Now
		}
		s.stopped = s.dur() - c.running(s.from, s.to)
		if !c.tooLong(&s, last) {
			if !failing || last.Rec().Observer != trace.ObserverKubeletLog {
				continue
			}
			s.unsure = true // the log may end here, or be a part: that it fails is what it shows
		}
		s.what, s.remedy = c.endWords(last)
		for i := range tries {
			t := &tries[i]
			text := fmt.Sprintf("%s: %s", t.Event.ID, took(t.Dur(), t.Open))
			if err := t.Err(); err != "" {
				text += "; " + quoted(err)
			}
			s.evidence = append(s.evidence, evidence(t.Rec(), "%s", text))
		}
		s.evidence = append(s.evidence, c.below(last)...)
		out = append(out, s)
	}
	return out
}

// endTries are the actions of the pod's end, with the tries of one step together. A step that was done and comes again, as when the object
// has gone from the API as well, is another: nothing held it between.
func (c *Case) endTries(end stretch) (out [][]Span[*trace.Action]) {
	at := map[string]int{} // in out, by step
	for _, a := range ownSpans[*trace.Action](c) {
		if a.Start.Before(end.from) {
			continue
		}
		i, again := at[a.Event.ID]
		if !again || out[i][len(out[i])-1].Err() == "" {
			i = len(out)
			at[a.Event.ID] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], a)
	}
	return out
}

// tooLong reports whether a step took longer than it may. A hook and a container may take the grace period.
func (c *Case) tooLong(s *endStep, a *Span[*trace.Action]) bool {
	if a.Event.Verb != trace.VerbKill && a.Event.Verb != trace.VerbPreStop {
		return s.dur() >= stuckFor
	}
	grace, known := c.graceOf(a)
	return known && s.dur() >= max(grace, stuckFor)
}

// graceOf is how long a kill or a hook may take, as the wait within it says.
func (c *Case) graceOf(a *Span[*trace.Action]) (time.Duration, bool) {
	for _, w := range ownSpans[*trace.Wait](c) {
		if w.Event.For != trace.WaitGrace || w.Rec().Parent != a.ID() {
			continue
		}
		return w.Event.Limit, true
	}
	return 0, false
}

// endWords names a step, and says what to do.
func (c *Case) endWords(a *Span[*trace.Action]) (what, remedy string) {
	e := a.Event
	switch e.Verb {
	case trace.VerbPreStop:
		return "the preStop hook of container " + e.Container + ", which used up the grace period",
			"Shorten the hook, or raise terminationGracePeriodSeconds: what the hook takes is taken from the container."
	case trace.VerbKill:
		if k := c.failedStop(a); k != nil {
			return fmt.Sprintf("the runtime, which does not stop container %s: StopContainer failed: %s", e.Container, quoted(k.Err())),
				"Look at the runtime, not at the program: journalctl -u containerd, and the container's shim (ps -ef | grep shim); a shim that does not respond has to be killed."
		}
		if grace, _ := c.graceOf(a); c.running(a.Start, a.Stop) > grace+stuckFor {
			return fmt.Sprintf("the exit of container %s, which continues after the kill that follows its grace period of %s", e.Container, human.Duration(grace)),
				"A process that SIGKILL does not terminate waits in the kernel (ps -eo pid,stat,wchan:32,cmd | grep ' D'), mostly for a disk or a mount; or the runtime is stuck (KL15)."
		}
		return "container " + e.Container + ", which did not exit in its grace period",
			"Let the program exit on SIGTERM (as PID 1 it must handle it; a shell does not pass it on: use exec), or lower terminationGracePeriodSeconds."
	case trace.VerbUnmount:
		return "the unmounting of its volumes", "See what holds the mount (findmnt; fuser -vm PATH) or why the CSI driver fails (its log); the agent retries."
	case trace.VerbStopSandbox, trace.VerbRemoveSandbox, trace.VerbRemove:
		return "the step " + e.ID, "The runtime does not complete it: crictl pods, journalctl -u containerd, and the CNI plugin's DEL."
	case trace.VerbReleaseClaims:
		return "the release of its ResourceClaims", "See why the DRA driver is not registered or does not unprepare them (its pod, its log); the agent retries, at once when the driver registers."
	case trace.VerbRemoveCgroup:
		return "the removal of its cgroup", "Look for processes left in it (cat cgroup.procs below kubepods); those in state D wait in the kernel, mostly for a disk or a mount."
	case trace.VerbCgroup, trace.VerbDirs, trace.VerbVolumes, trace.VerbClaims, trace.VerbImage, trace.VerbSandbox, trace.VerbCreate, trace.VerbStart, trace.VerbPostStart, trace.VerbResize, trace.VerbResizePod, trace.VerbRemoveDirs:
	}
	return "the step " + e.ID, "Fix what its error names; the agent retries."
}

// failedStop is the last call that should have stopped a container, and failed.
func (c *Case) failedStop(a *Span[*trace.Action]) (failed *Span[*trace.CRICall]) {
	calls := ownSpans[*trace.CRICall](c)
	for i := range calls {
		k := &calls[i]
		if k.Event.Method == "StopContainer" && !k.Open && within(c.parents(), k.ID(), a.ID()) {
			failed = nil
			if k.Err() != "" {
				failed = k
			}
		}
	}
	return failed
}

// below is what the records tell of a step from within: volumes and cgroups that would not go.
func (c *Case) below(a *Span[*trace.Action]) (out []Evidence) {
	ups := c.parents()
	for _, v := range ownSpans[*trace.Volume](c) {
		if within(ups, v.ID(), a.ID()) && (v.Err() != "" || v.Open) {
			out = append(out, evidence(v.Rec(), "%s of volume %s: %s", v.Event.Op, v.Event.Name, cmp.Or(quoted(v.Err()), "ongoing")))
		}
	}
	for _, o := range ownSpans[*trace.CgroupOp](c) {
		if within(ups, o.ID(), a.ID()) && (o.Err() != "" || o.Open) {
			out = append(out, evidence(o.Rec(), "%s of cgroup %s: %s", o.Event.Op, o.Event.Path, cmp.Or(quoted(o.Err()), "ongoing")))
		}
	}
	return out
}

// endInAPI is the end of the pod's object: its deletion, and what comes after it.
func (c *Case) endInAPI(end stretch) (out []endStep) {
	var s endStep
	var last *Span[*trace.StatusPatch]
	patches := ownSpans[*trace.StatusPatch](c)
	for i := range patches {
		p := &patches[i]
		if p.Event.Mirror || p.Start.Before(end.from) || p.Event.Op != trace.PatchDelete && p.Err() == "" && !p.Open {
			continue
		}
		if last == nil {
			s.from = p.Start
		}
		last = p
		s.evidence = append(s.evidence, evidence(p.Rec(), "%s of the object: %s %s", p.Event.Op, took(p.Dur(), p.Open), quoted(p.Err())))
	}
	if last == nil {
		return nil
	}
	gone := c.milestone(trace.MilestoneGone) != nil
	s.to, s.open = end.to, !gone
	s.what, s.remedy = "the write of its termination to the API server", "Let the agent reach the API server; it retries, with back-off."
	if last.Event.Op == trace.PatchDelete && !last.Open && last.Err() == "" {
		s.from, s.unsure = last.Stop, true
		s.what = "the API server, which still has the object after nothing is left of the pod here"
		if gone {
			s.what = "the API server, which still had the object after nothing was left of the pod here"
		}
		if spec := c.spec(); spec != nil && spec.Finalizers != "" {
			s.what += " (it had the finalizers " + spec.Finalizers + ")"
		}
		s.remedy = "Mostly a finalizer holds it: kubectl get pod NAME -o jsonpath='{.metadata.finalizers}', and see to the controller that should remove it."
	} else if gone {
		s.to = last.Stop
	}
	if s.dur() < stuckFor {
		return nil
	}
	return []endStep{s}
}
