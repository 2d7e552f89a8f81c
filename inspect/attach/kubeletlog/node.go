package kubeletlog

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// nodeState is what goes on at the node.
type nodeState struct {
	loops   uint64
	begun   int64 // the kubelet started
	runtime *span // the runtime is not ready
	since   int64 // the last line that said so
	young   int64 // the first line that says that the PLEG has not looked yet
	relist  int64 // a look of the PLEG began; 0 while none goes on
	gc      *span // images are removed
	removed int   // how many were
	network *span // the runtime has no pod network
	without int64 // the last line that said so
	failed  failedCall
	// waited is the last request that waited for the client's own limit, waitedAt when it was told of.
	waited   waited
	waitedAt int64
}

// failedCall is the last call to the runtime that failed, or the end of a housekeeping by it.
type failedCall struct {
	method, err string
	at          int64
	ended       bool // housekeeping ended by it, at at
}

// networkSilence is how long the kubelet waits between two looks at the runtime's network, and a bit: it looks every 5 s.
const networkSilence = 20 * time.Second

// runtimeSilence is how long the kubelet waits at most between two looks at a runtime that is not ready, and a bit.
const runtimeSilence = 6 * time.Second

const (
	// neverActive is in what kubelets before 1.16 wrote of a PLEG that has not looked at the runtime yet: the longest duration that there is.
	neverActive = "2562047h47m"
	// longStart is how long a kubelet that starts needs at most until it has looked at the runtime.
	longStart = time.Minute
)

// skipping is a syncLoop that does nothing, because the runtime or the PLEG is not well. A kubelet that starts says so too, of what it has
// not looked at yet: that is none of the runtime's fault, unless it lasts.
func (f *Fold) skipping(e *klog.Entry, at int64) bool {
	err := firstOf(e.Get("err"), e.Get("reason"))
	if err == "" {
		return false
	}
	if strings.Contains(err, "yet to be successful") || strings.Contains(err, "may not have completed yet") || strings.Contains(err, neverActive) {
		if f.node.young == 0 {
			f.node.young = at
		}
		if at-f.node.young < int64(longStart) {
			return false
		}
	}
	f.runtimeDown(at, err)
	return true
}

// notReady is the condition of a node that is not ready: the kubelet says why. Of a network that is not ready it says more elsewhere.
func (f *Fold) notReady(e *klog.Entry, at int64) bool {
	why := e.Get("message")
	var c struct{ Reason, Message string }
	if json.Unmarshal([]byte(e.Get("condition")), &c) == nil && c.Reason == "KubeletNotReady" {
		why = c.Message
	}
	if !strings.Contains(why, "PLEG is not healthy") && !strings.Contains(why, "container runtime is down") {
		return false
	}
	e.Fields = append(e.Fields, klog.Field{Key: "reason", Value: why})
	return f.skipping(e, at)
}

func (f *Fold) runtimeDown(at int64, err string) {
	if f.node.runtime == nil {
		f.node.runtime = f.begin(nil, nil, at, &trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetRuntime}, Cause: err, Class: trace.Classify(err)})
	}
	f.node.since = at
}

// runtimeAnswers ends that, when the loop works again.
func (f *Fold) runtimeAnswers(at int64) {
	if f.node.runtime == nil {
		return
	}
	to := at
	if at-f.node.since > int64(runtimeSilence) {
		to = f.node.since
	}
	f.end(f.node.runtime, to, relist, nil)
	f.node.runtime = nil
}

// quietNode ends what the kubelet has not repeated for so long that it is over. It says so of neither.
func (f *Fold) quietNode(at int64) {
	n := &f.node
	if n.runtime != nil && at-n.since > int64(runtimeSilence) {
		f.end(n.runtime, n.since, relist, nil)
		n.runtime = nil
	}
	if n.network != nil && at-n.without > int64(networkSilence) {
		f.end(n.network, n.without, relist, nil)
		n.network = nil
	}
}

func (f *Fold) networkNotReady(e *klog.Entry, at int64) bool {
	why := trace.Clip(firstOf(e.Get("networkReady"), e.Get("err")), 2048)
	if f.node.network == nil {
		f.node.network = f.begin(nil, nil, at, &trace.Wait{
			For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetNetwork}, Reason: "NetworkPluginNotReady", Cause: why, Class: trace.FailNetwork,
		})
	}
	f.node.without = at
	f.point(nil, at, micros, &trace.Log{Level: trace.LevelError, Message: "container runtime network not ready: " + why})
	return true
}

func (f *Fold) runtimeFailed(e *klog.Entry, at int64) bool {
	err := e.Get("err")
	f.was(nil, nil, at, at, micros, &trace.CRICall{Method: "Status", Code: codeOf(err), Err: err, Class: trace.Classify(err)})
	return true
}

// runtimeCall is a call to the runtime that failed, of which the kubelet's client tells: ListContainers with filter from runtime service failed.
var runtimeCall = pattern.New(`(?s)^(?:Get )?([A-Z][A-Za-z]{2,40})(?:(?: with filter.*?| "[0-9a-f]{1,64}")? from (?:runtime|image) service failed(?:: (.*))?| recv failed)$`)

// runtimeCalled takes in calls that got no answer. Of others, the lines that follow tell more.
func (f *Fold) runtimeCalled(e *klog.Entry, at int64) bool {
	m := runtimeCall.FindStringSubmatch(e.Msg[:min(len(e.Msg), maxError)])
	if m == nil {
		return false
	}
	err := firstOf(e.Get("err"), m[2])
	code := codeOf(err)
	if m[1] == "PodSandbox" { // what the client calls PodSandboxStats
		m[1] = "PodSandboxStats"
	}
	switch m[1] {
	case "RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox", "PullImage", "ExecSync":
		return false // the pod's
	}
	f.node.failed = failedCall{method: m[1], err: err, at: at}
	if code == "DeadlineExceeded" || code == "Unavailable" {
		f.was(nil, nil, at, at, micros, &trace.CRICall{Method: m[1], Code: code, Err: err, Class: trace.Classify(err)})
	}
	return false
}

// pressed is a pod that the node does not take because it is short of something, as kubelets before 1.31 write it.
func (f *Fold) pressed(e *klog.Entry, at int64) bool {
	conditions := trace.Clip(e.Get("nodeCondition"), 256)
	f.refused(f.podOf(e), at, "the node has conditions "+conditions, conditions)
	return true
}

// refused is a pod, which may be nil, that the node does not take because it has conditions. Some write it twice.
func (f *Fold) refused(p *pod, at int64, why, conditions string) {
	if p != nil && p.refused != 0 && at-p.refused < int64(time.Second) {
		return
	}
	if p != nil {
		p.refused = at
		f.point(p, at, micros, &trace.Decision{By: trace.ByAdmission, Subject: p.id.String(), Verdict: trace.VerdictReject, Code: "Evicted", Reason: trace.Clip(why, 512)})
	}
	for _, c := range [][2]string{{"DiskPressure", "disk space"}, {"MemoryPressure", "memory"}, {"PIDPressure", "process ids"}} {
		if strings.Contains(conditions, c[0]) {
			f.point(nil, at, micros, &trace.Decision{By: trace.ByEviction, Subject: c[1], Verdict: trace.VerdictShort, Reason: trace.Clip(why, 512) + ", and takes no pod that would need it"})
			break
		}
	}
}

// reclaims is an eviction manager that has to end pods.
func (f *Fold) reclaims(e *klog.Entry, at int64) bool {
	f.point(nil, at, micros, &trace.Decision{By: trace.ByEviction, Subject: firstOf(e.Get("resourceName"), "a resource"), Verdict: trace.VerdictShort, Reason: "pods must be evicted to reclaim it"})
	return true
}

// cleaningFailed is a housekeeping that ended early: it lists what the runtime has.
func (f *Fold) cleaningFailed(e *klog.Entry, at int64) bool {
	c := &f.node.failed
	c.ended = c.method != "" && at-c.at < int64(10*time.Millisecond) && c.err == e.Get("err")
	c.at = at
	return false
}

// housekeepingWaited is the call that a housekeeping of a duration ended with, where it gave up on it: it took about all of that.
func (f *Fold) housekeepingWaited(loop *span, at int64) {
	c := f.node.failed
	f.node.failed = failedCall{}
	if code := codeOf(c.err); c.ended && at-c.at < int64(10*time.Millisecond) && code == "DeadlineExceeded" {
		f.was(nil, loop, loop.from, at, relist, &trace.CRICall{Method: c.method, Code: code, Err: c.err, Class: trace.Classify(c.err)})
	}
}

func (f *Fold) relistFailed(e *klog.Entry, at int64) bool {
	f.was(nil, nil, at, at, micros, &trace.PLEGRelist{Cause: "period", Err: e.Get("err")})
	return true
}

func (f *Fold) registered(_ *klog.Entry, at int64) bool {
	f.was(nil, nil, at, at, micros, &trace.NodeStatus{Op: trace.NodeRegister})
	return true
}

func (f *Fold) imageRemoved(e *klog.Entry, at int64) bool {
	f.node.removed++
	f.point(nil, at, micros, &trace.Decision{By: trace.ByImageGC, Subject: e.Get("imageID"), Verdict: trace.VerdictRemove, Reason: "the image file system is over its high threshold", Ground: trace.RemovedForSpace})
	return true
}
