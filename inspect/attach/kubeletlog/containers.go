package kubeletlog

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeevent"
	"github.com/kubeloupe/kubeloupe/trace"
)

// nameOf is the container of an id, where a line told; else "".
func (p *pod) nameOf(id string) string {
	for _, c := range p.containers {
		if c.killing != "" && strings.HasSuffix(c.killing, id) {
			return c.name
		}
	}
	return ""
}

// exitOf is the code that the pod's container ended with, where it has one only; else nobody can say.
func (p *pod) exitOf() *int32 {
	if code, err := strconv.ParseInt(p.exit, 10, 32); err == nil && len(p.containers) == 1 {
		return new(int32(code))
	}
	return nil
}

// afterBoot is how long after its start a kubelet finds sandboxes from before the node's start.
const afterBoot = 30 * time.Second

// needSandbox is a plan that finds that a sandbox is to be made. It is also written where a pod ends: only what follows shows which.
func needSandbox(why trace.SandboxFault) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		p := f.podOf(e)
		if p == nil {
			return false
		}
		p.fresh = true
		if why == "" && p.asked == 0 && p.firstVolume == 0 && !p.started {
			p.asked = at
		} else if why == "" {
			f.volumesMounted(p, at)
		}
		if why == trace.SandboxNotReady && f.node.begun != 0 && at-f.node.begun < int64(afterBoot) && !p.started {
			return false // the node was started again, and its sandboxes are those of before
		}
		if why != "" {
			p.why, p.needed = why, at
		}
		return false
	}
}

func (f *Fold) sandboxBegins(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	f.volumesDone(p, at)
	p.noBox = ""
	p.sandbox = f.begin(p, p.sync, at, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Replaces: p.why, Reason: p.whyNew()})
	return true
}

func (f *Fold) sandboxEnds(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil || p.sandbox == nil {
		return false
	}
	f.end(p.sandbox, at, micros, nil)
	p.sandbox, p.why = nil, ""
	return true
}

// whyNew says in words why a sandbox is made.
func (p *pod) whyNew() string {
	switch p.why {
	case trace.SandboxNotReady, trace.SandboxSurplus:
		return "the sandbox is not ready"
	case trace.SandboxNetwork:
		return "the network namespace changed"
	case trace.SandboxNoAddress:
		return "the sandbox has no address"
	}
	return "no sandbox"
}

// rpcCode is the gRPC code in an error of the runtime.
var rpcCode = pattern.New(`rpc error: code = ([A-Za-z]{1,30}|\d{1,2})`)

func codeOf(err string) string {
	if m := rpcCode.FindStringSubmatch(err); m != nil {
		switch m[1] { // as numbers until Kubernetes 1.9
		case "4":
			return "DeadlineExceeded"
		case "14":
			return "Unavailable"
		case "2":
			return "Unknown"
		}
		return m[1]
	}
	if strings.Contains(err, "context deadline exceeded") {
		return "DeadlineExceeded"
	}
	return "Unknown"
}

// sandboxFailed is a sandbox that could not be made. Two lines tell of it, one after the other, and then the pass's error.
func (f *Fold) sandboxFailed(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	err := trace.Clip(e.Get("err"), maxError)
	f.sandboxErr(p, at, err)
	p.noBox = err
	return true
}

func (f *Fold) sandboxErr(p *pod, at int64, err string) {
	if p.failedAt != 0 && at-p.failedAt < int64(100*time.Millisecond) {
		return // told already
	}
	p.failedAt = at
	class := trace.Classify(err)
	call := &trace.CRICall{Method: "RunPodSandbox", Code: codeOf(err), Err: err, Class: class, Plugin: trace.PluginIn(err)}
	a := &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Replaces: p.why, Reason: p.whyNew(), Err: err, Class: class}
	if m := imageIn.FindStringSubmatch(err); m != nil && class.Of(trace.FailImage) {
		a.Target = m[1]
	}
	s := p.sandbox
	if s == nil {
		s = &span{id: f.nextID(), from: at, pod: p, event: a}
	}
	f.was(p, s, s.from, at, micros, call)
	f.end(s, at, micros, a)
	p.sandbox = nil
}

func (f *Fold) containerBegins(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	name := firstOf(e.Get("container"), e.Get("containerName"))
	if p == nil || name == "" {
		return false
	}
	f.volumesDone(p, at)
	c := p.container(name)
	c.init = e.Get("containerType") == "init container"
	f.endWaits(p, at, func(key string) bool { return key == "init" || key == "container "+name })
	f.imageBegins(p, c, at)
	return true
}

func (f *Fold) imageBegins(p *pod, c *container, at int64) {
	if c.image == nil {
		c.image = f.begin(p, p.sync, at, &trace.Action{ID: "image " + c.name, Verb: trace.VerbImage, Container: c.name, Target: c.target})
	}
}

// imageEnds ends the getting of an image.
func (f *Fold) imageEnds(p *pod, c *container, at int64, code, err string) {
	class := trace.FailureClass("")
	if err != "" {
		class, c.lastErr = trace.ClassifyPull(err), err
	}
	if c.pull != nil {
		pull, _ := c.pull.event.(*trace.ImagePull)
		ev := trace.ImagePull{Image: c.target, Err: err, Class: class, Bytes: c.bytes}
		if pull != nil {
			ev.Image = firstOf(pull.Image, c.target)
		}
		f.end(c.pull, at, micros, &ev)
		c.pull = nil
	}
	a := &trace.Action{ID: "image " + c.name, Verb: trace.VerbImage, Container: c.name, Target: c.target, Code: code, Err: err, Class: class}
	if c.image != nil {
		f.end(c.image, at, micros, a)
		c.image = nil
	} else if err != "" {
		f.was(p, p.sync, at, at, micros, a)
	}
}

// claimsFailed is what keeps a pod from its sandbox. The kubelet makes an Event of it, with the same text.
func (f *Fold) claimsFailed(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	f.point(p, at, micros, &trace.NodeEvent{
		Type: trace.EventWarning, Reason: "FailedPrepareDynamicResources", Message: "Failed to prepare dynamic resources: " + trace.Clip(e.Get("err"), maxError),
	})
	return true
}

// pullFailed names an image and no pod: the pass's error, which follows, says whose.
func (f *Fold) pullFailed(*klog.Entry, int64) bool { return false }

// eventLag is how much later an Event is written than what it tells of happens: mostly a fraction of a millisecond.
const eventLag = 100 * time.Millisecond

// event is an Event of the API that the kubelet made. Those of containers come as it goes on with them.
func (f *Fold) event(e *klog.Entry, at int64) bool {
	var p *pod
	if e.Get("kind") == "Pod" {
		if p = f.named(e.Get("object"), e.Get("uid")); p == nil {
			return false
		}
	}
	message, reason := e.Get("message"), e.Get("reason")
	told := &trace.NodeEvent{Type: eventType(e.Get("type")), Reason: reason, Message: message, Field: e.Get("fieldPath")}
	told.Volume, told.Class = kubeevent.FailedVolume(reason, message)
	f.point(p, at, micros, told)
	name, isInit, ok := kubeevent.Container(e.Get("fieldPath"))
	if p == nil || !ok {
		return true
	}
	c := p.container(name)
	c.init = isInit
	image := kubeevent.Image(message)
	switch reason {
	case "Pulling":
		c.target = firstOf(image, c.target)
		f.endWaits(p, at, func(key string) bool { return key == "init" || key == "container "+c.name })
		f.imageBegins(p, c, at)
		c.pull = f.begin(p, c.image, at, &trace.ImagePull{Image: c.target})
	case "Pulled":
		c.target = firstOf(image, c.target)
		pull := kubeevent.Pulled(message)
		c.bytes = cmp.Or(pull.Bytes, c.bytes)
		if w := pull.Waited(); w > 0 && c.pull != nil {
			f.was(p, c.pull, c.pull.from, c.pull.from+int64(w), time.Millisecond, &trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetPulls}})
		}
		f.endWaits(p, at, func(key string) bool { return key == "init" || key == "container "+c.name })
		f.imageEnds(p, c, at, "", "")
		c.create = f.begin(p, p.sync, at, &trace.Action{ID: "create " + c.name, Verb: trace.VerbCreate, Container: c.name})
	case "Created":
		f.end(c.create, at, micros, nil)
		c.create = nil
		c.start = f.begin(p, p.sync, at, &trace.Action{ID: "start " + c.name, Verb: trace.VerbStart, Container: c.name})
	case "Started":
		f.end(c.start, at, micros, nil)
		if c.start != nil {
			c.started = c.start.from
		}
		c.start = nil
		if c.init {
			p.waits["init"] = f.begin(p, nil, at, &trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: c.name}})
		} else if !p.started && p.seen && !p.ending {
			p.lastStart, p.told = at, true
			f.pods.starting[p] = true
			if begun := c.started; p.passTo != 0 && at-p.passTo < int64(eventLag) && begun >= p.passFrom && begun <= p.passTo && len(p.waits) == 0 {
				p.passed = at // the pass that started it ended before its Event came
			}
			f.toldStart(p, c.name, at)
		}
	}
	return true
}

func (f *Fold) killBegins(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	name := e.Get("containerName")
	if p == nil || name == "" {
		return false
	}
	f.endWaits(p, at, func(key string) bool { return key == "retry" })
	c := p.container(name)
	c.killing = e.Get("containerID")
	seconds, _ := strconv.ParseInt(e.Get("gracePeriod"), 10, 32)
	if c.kill != nil {
		return true
	}
	c.kill = f.begin(p, p.sync, at, &trace.Action{ID: "kill " + name, Verb: trace.VerbKill, Container: name, Target: c.killing})
	c.grace = f.begin(p, c.kill, at, &trace.Wait{
		For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: name}, Limit: time.Duration(max(seconds, 0)) * time.Second,
	})
	return true
}

func (f *Fold) killEnds(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	c := p.container(e.Get("containerName"))
	if c.kill == nil {
		return false
	}
	if err := e.Get("err"); err != "" {
		f.end(c.grace, at, micros, nil)
		f.end(c.kill, at, micros, &trace.Action{ID: "kill " + c.name, Verb: trace.VerbKill, Container: c.name, Target: c.killing, Err: err, Class: trace.Classify(err)})
		c.kill, c.grace = nil, nil
		return true
	}
	f.killed(c, at, micros)
	return true
}

// killed ends the end of a container.
func (f *Fold) killed(c *container, at int64, precision time.Duration) {
	f.end(c.grace, at, precision, nil)
	f.end(c.kill, at, precision, nil)
	c.kill, c.grace = nil, nil
}

func (f *Fold) hookBegins(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	name := e.Get("containerName")
	if p == nil || name == "" {
		return false
	}
	c := p.container(name)
	c.hook = f.begin(p, c.kill, at, &trace.Wait{For: trace.WaitHook, Target: trace.Target{Kind: trace.TargetHook, Name: "preStop", Container: name}})
	return true
}

func (f *Fold) hookEnds(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	c := p.container(e.Get("containerName"))
	f.end(c.hook, at, micros, nil)
	c.hook = nil
	return true
}

// probe is an attempt of a probe; its begin is in the log from V4 on, for some.
func probe(result trace.ProbeResult) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		p := f.podOf(e)
		if p == nil || e.Get("containerName") == "" {
			return false
		}
		a := &trace.ProbeAttempt{Container: e.Get("containerName"), Result: result, Output: trace.Clip(firstOf(e.Get("output"), e.Get("err")), 512)}
		a.How, a.Answer, a.Code = trace.ProbeAnswerIn(a.Output)
		a.TimedOut = result != trace.ProbeSuccess && probeTimedOut.MatchString(a.Output)
		switch strings.ToLower(e.Get("probeType")) {
		case "readiness":
			a.Probe = trace.ProbeReadiness
			p.probed = true
		case "liveness":
			a.Probe = trace.ProbeLiveness
		case "startup":
			a.Probe = trace.ProbeStartup
		}
		from, c := at, p.container(a.Container)
		if c.probing != 0 && at-c.probing < int64(maxProbe) {
			from = c.probing
		}
		c.probing = 0
		f.asked(p, probeID{a.Container, a.Probe}, from, at, result == trace.ProbeSuccess)
		f.was(p, nil, from, at, micros, a)
		return true
	}
}

// probeTimedOut is the output of an attempt that ran into its timeout: of exec (the runtime's, and the kubelet's), HTTP, TCP and gRPC.
var probeTimedOut = pattern.New(`timed out after|command timed out|[Cc]ontext deadline exceeded|i/o timeout|^timeout: `)

// maxProbe is how long an attempt of a probe takes at most, to be that of which a line told the begin.
const maxProbe = 10 * time.Minute

// eventType is an Event's type; Normal where it is not known.
func eventType(s string) trace.EventType {
	if s == "Warning" {
		return trace.EventWarning
	}
	return trace.EventNormal
}
