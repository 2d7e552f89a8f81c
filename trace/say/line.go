package say

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// longEnough is the minimum duration of a wait or a minor action for a line.
const longEnough = 100 * time.Millisecond

// manyFiles is the minimum number of changed files of a volume for a line.
const manyFiles = 1000

// Line describes a record, or returns "" if it has no line. The comment of package printer lists which have one. It may
// contain foreign text with control characters.
func Line(r *trace.Record) string { return noise.Of(line(r)) }

func line(r *trace.Record) string {
	over := r.Edge != trace.EdgeBegin
	switch e := r.Event.(type) {
	case *trace.Agent:
		return Agent(e)
	case *trace.Source:
		return source(e)
	case *trace.SourceError:
		if e.Path == "" {
			return SourceError(e)
		}
		return "manifest " + SourceError(e)
	case *trace.Log:
		return logLine(e)
	case *trace.Decision:
		return decision(e)
	case *trace.NodeEvent:
		if e.Type == trace.EventWarning && e.Reason != "Unhealthy" { // the probe's attempt has more information
			return fmt.Sprintf("warning %s: %s", e.Reason, withoutPod(e.Message, r.Pod))
		}
	case *trace.Milestone:
		return milestone(e)
	case *trace.Wait:
		return wait(r, e)
	case *trace.Gate:
		return gate(e)
	case *trace.PodStatus:
		if e.Phase.Terminal() {
			return join("phase "+string(e.Phase), e.Reason, e.Message)
		}
	case *trace.PLEGMode:
		return PLEG(e)
	case *trace.PLEGEvent:
		return exited(e)
	case *trace.OOMKill:
		return OOM(e)
	case *trace.Allocation:
		return Allocation(e)
	case *trace.Eviction:
		if e.Outcome != trace.EvictionNear {
			return Eviction(e)
		}
	case *trace.DevicePlugin:
		return DevicePlugin(e)
	case *trace.DeviceAllocation:
		return DeviceAllocation(e)
	case *trace.DRAPlugin:
		return DRAPlugin(e)
	case *trace.ResourceClaim:
		return ResourceClaim(e)
	case *trace.Shutdown:
		return shutdown(e, over)
	case *trace.SpanExport:
		return SpanExport(e)
	case *trace.NodeStatus:
		if over && (e.Err != "" || e.Op != trace.NodePatch || e.Cause != trace.NodePeriod) {
			return nodeStatus(e)
		}
	case *trace.NodeDescribed:
		return changes("node", e.Changed)
	case *trace.RuntimeDescribed:
		return changes("container runtime", e.Changed)
	case *trace.ResourcesDescribed:
		return Policies(e)
	case *trace.Certificate:
		return certificate(e)
	case *trace.ClockStepped:
		return clockStepped(e)
	case *trace.GC:
		if over && (e.Removed > 0 || e.Err != "") {
			return failed(fmt.Sprintf("%s gc removed %d of %d, freed %s", e.What, e.Removed, e.Considered, human.Bytes(e.Freed)), e.Err)
		}
	case *trace.Action:
		if over {
			return action(r, e)
		}
	case *trace.ImagePull:
		if over {
			return pull(r, e)
		}
	case *trace.ProbeAttempt:
		if over {
			return probe(e)
		}
	case *trace.VolumeProgress:
		if e.Done && e.Files >= manyFiles {
			return fmt.Sprintf("%s of %d files in %s", e.Op, e.Files, e.Path)
		}
	}
	if over {
		return failure(r)
	}
	return ""
}

// failure returns a line only if the event failed.
func failure(r *trace.Record) string {
	switch e := r.Event.(type) {
	case *trace.Sync:
		return ifFailed("sync "+string(e.Why), e.Err)
	case *trace.CRICall:
		if e.Code == "NotFound" { // a request for something that no longer exists is normal
			return ""
		}
		return ifFailed("cri "+e.Method, e.Err)
	case *trace.APICall:
		if e.Code == 404 || e.Code == 409 { // the caller handles it
			return ""
		}
		return ifFailed("api "+string(e.Verb)+" "+e.Resource+" "+strings.Trim(e.Namespace+"/"+e.Name, "/"), trace.Failure(e))
	case *trace.StatusPatch:
		if e.Class == trace.FailGone { // deleted by others meanwhile
			return ""
		}
		return ifFailed("status "+string(e.Op), e.Err)
	case *trace.CSICall:
		kind := "csi "
		switch {
		case e.Flex:
			kind = "flexvolume "
		case e.Program:
			kind = "program "
		}
		return ifFailed(kind+e.Method+" of "+strings.TrimSpace(e.Driver+" "+e.Volume), trace.Failure(e))
	case *trace.ServerRequest:
		if e.Verdict == trace.AccessAllowed && e.Code < 500 { // a client's wrong request is the client's error
			return ""
		}
		return ifFailed("request "+e.Method+" "+e.Path, trace.Failure(e))
	case *trace.PLEGRelist:
		return ifFailed("PLEG relist", e.Err)
	case *trace.Volume:
		return ifFailed("volume "+string(e.Op)+" "+e.Name, e.Err)
	case *trace.CgroupOp:
		return ifFailed("cgroup "+string(e.Op)+" "+e.Path, e.Err)
	}
	return ""
}

// withoutPod removes the pod with which some of the kubelet's messages begin, because the line has it.
func withoutPod(message string, pod trace.Pod) string {
	return strings.TrimPrefix(message, fmt.Sprintf("pod: %q. ", pod.Name+"_"+pod.Namespace+"("+pod.UID+")"))
}

func nodeStatus(e *trace.NodeStatus) string {
	return failed(join("node "+string(e.Op), e.Refused, Changes(e.Changed, e.Clipped)), e.Err)
}

// changes returns a line for differences from an earlier description; a first description has none.
func changes(what string, changed []string) string {
	if len(changed) == 0 {
		return ""
	}
	return what + " changed: " + strings.Join(changed, ", ")
}

// certificate returns a line for one that replaces another; those at the start are unchanged.
func certificate(e *trace.Certificate) string {
	if e.None != "" || e.Cause == trace.CertificateStart {
		return ""
	}
	s := string(e.Use) + " certificate"
	if e.Name != "" {
		s += " of " + e.Name
	}
	if e.Cause != "" {
		s += " (" + string(e.Cause) + ")"
	}
	if !e.NotAfter.IsZero() {
		s += ", valid until " + e.NotAfter.UTC().Format(time.RFC3339)
	}
	if !e.Renew.IsZero() {
		s += ", to be renewed at " + e.Renew.UTC().Format(time.RFC3339)
	}
	return s
}

// Agent describes a state of the agent.
func Agent(e *trace.Agent) string {
	s := "agent " + string(e.State)
	if e.Node != "" {
		s += " on " + e.Node
	}
	if e.Runtime != "" {
		s += ", " + strings.TrimSpace(e.Runtime+" "+e.RuntimeVersion)
	}
	if e.Simulated && e.RuntimeVersion != "simulated" {
		s += " (simulated)"
	}
	return noise.Of(join(s, e.Reason))
}

func source(e *trace.Source) string {
	switch e.Op {
	case trace.OpAdd, trace.OpUpdate, trace.OpRemove, trace.OpDelete:
		s := "source " + string(e.Source) + " " + string(e.Op)
		if e.Path != "" {
			s += " " + e.Path
		}
		return s
	case trace.OpSet, trace.OpReconcile:
	}
	return ""
}

// SourceError describes an error of a manifest or a source on one line, in the format of compilers, or says that it no
// longer applies.
func SourceError(e *trace.SourceError) string {
	s, again := e.Path, " is valid again"
	if s == "" {
		s, again = "source "+string(e.Source), " works again"
	}
	switch {
	case e.Message == "" && e.Gone:
		return noise.Of(s + " was removed")
	case e.Message == "":
		return noise.Of(s + again)
	}
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	s = join(s, e.Field, e.Message)
	if e.Kept {
		s += " (the earlier version stays in effect)"
	}
	return noise.Of(s)
}

// PLEG describes how the agent learns of changes.
func PLEG(e *trace.PLEGMode) string { return noise.Of(join("PLEG "+string(e.Mode), e.Reason)) }

// exited describes the exit of a container; "" for other events.
func exited(e *trace.PLEGEvent) string {
	if e.Type != "ContainerDied" {
		return ""
	}
	return "container " + cmp.Or(e.Name, e.Container, e.Sandbox) + " exited" // an init container is expected to
}

// OOM describes a container that ran out of memory.
func OOM(e *trace.OOMKill) string {
	what := "out of memory: the kernel killed " + Victim(e)
	switch {
	case e.Name != "" || e.Container != "":
		what += " of container " + cmp.Or(e.Name, e.Container)
	case e.Cgroup != "":
		what += " in cgroup " + e.Cgroup
	}
	switch e.Constraint {
	case trace.OOMMemcg:
		if e.Limited != "" && e.Limited != e.Cgroup {
			what += ", at the memory limit of cgroup " + e.Limited
		}
	case trace.OOMSystem:
		what += ": the node had no free memory"
	case trace.OOMCpuset:
		what += ": the NUMA nodes of its cpuset had no free memory"
	case trace.OOMPolicy:
		what += ": the NUMA nodes of its memory policy had no free memory"
	}
	return noise.Of(what)
}

// Victim describes what the kernel killed: "process java (pid 4711, 19.5 MiB)", "a process" or "2 processes".
func Victim(e *trace.OOMKill) string {
	switch {
	case e.Process != "" && e.RSS > 0:
		return noise.Of(fmt.Sprintf("process %s (pid %d, %s)", e.Process, e.PID, human.Bytes(e.RSS)))
	case e.Process != "":
		return noise.Of(fmt.Sprintf("process %s (pid %d)", e.Process, e.PID))
	case e.Kills > 1:
		return fmt.Sprintf("%d processes", e.Kills)
	}
	return "a process"
}

// Log returns a log line's message with its attributes.
func Log(e *trace.Log) string {
	s := e.Message
	for _, a := range e.Attrs {
		v := a.V
		if v == "" || strings.ContainsAny(v, " \t\n\"=") {
			v = strconv.Quote(v)
		}
		s += " " + a.K + "=" + v
	}
	return noise.Of(s)
}

func logLine(e *trace.Log) string {
	if e.Level == trace.LevelDebug {
		return ""
	}
	return string(cmp.Or(e.Level, trace.LevelInfo)) + ": " + Log(e)
}

func decision(e *trace.Decision) string {
	if e.Verdict == trace.VerdictKeep || e.Verdict == trace.VerdictAdmit {
		return ""
	}
	s := string(e.By) + ": " + decided(e)
	if e.Bytes > 0 {
		s += " (" + human.Bytes(e.Bytes) + ")"
	}
	return join(s, e.Reason)
}

// decided returns a verdict with its subject, for example "remove web" and "web will not be restarted".
func decided(e *trace.Decision) string {
	if e.By == trace.ByRestart && e.Verdict == trace.VerdictLeave {
		return e.Subject + " will not be restarted"
	}
	return string(e.Verdict) + " " + e.Subject
}

func milestone(e *trace.Milestone) string {
	s := string(e.Name)
	if e.Source != "" {
		s += " from " + string(e.Source)
	}
	if e.Since > 0 {
		s += " after " + human.Duration(e.Since)
	}
	if e.Adopted {
		s += " (found running)"
	}
	return s
}

func wait(r *trace.Record, e *trace.Wait) string {
	switch {
	case e.For == trace.WaitGrace: // the kill has it
	case e.For == trace.WaitProbe: // the attempts have it
	case r.Edge == trace.EdgeBegin && e.For == trace.WaitBackoff:
		return join("waits: "+Waits(e), Detail(e, r.Start()))
	case r.Edge == trace.EdgeEnd && r.Dur >= longEnough:
		return join("waited: "+Waits(e), Behind(e.Behind, 0))
	}
	return ""
}

// probe describes a failed attempt, or the success that changes a probe's result.
func probe(e *trace.ProbeAttempt) string {
	what := Target(probeOf(e))
	switch failed := Attempt(e); {
	case failed != "" && e.Early: // it does not count
		return ""
	case failed != "":
		return what + " " + failed
	case (e.Result == trace.ProbeSuccess || e.Result == trace.ProbeWarning) && e.State == trace.ProbeSays && e.Count == e.Threshold:
		return what + " succeeds"
	}
	return ""
}

// Attempt describes a probe's attempt that failed, such as "failed, 2 of 3: exit code 1"; "" for one that succeeded.
func Attempt(e *trace.ProbeAttempt) string {
	switch {
	case e.Result == trace.ProbeFailure && e.Threshold > 1:
		return join("failed, "+InARow(e.Count, e.Threshold), e.Output)
	case e.Result == trace.ProbeFailure:
		return join("failed", e.Output)
	case e.Result == trace.ProbeError:
		return join("could not be run", e.Output)
	}
	return ""
}

// InARow is how often a probe has had a result, of the number of times after which it counts: "2 of 3", and "184 in a row" beyond that.
func InARow(count, threshold int) string {
	if count > threshold {
		return fmt.Sprintf("%d in a row", count)
	}
	return fmt.Sprintf("%d of %d", count, threshold)
}

func action(r *trace.Record, e *trace.Action) string {
	what := cmp.Or(e.ID, strings.TrimSpace(string(e.Verb)+" "+cmp.Or(e.Container, e.Target)))
	switch e.Verb {
	case trace.VerbSandbox, trace.VerbCreate, trace.VerbStart, trace.VerbPostStart, trace.VerbKill, trace.VerbStopSandbox, trace.VerbRemove, trace.VerbRemoveSandbox:
		return failed(what, e.Err)
	case trace.VerbCgroup, trace.VerbDirs, trace.VerbVolumes, trace.VerbClaims, trace.VerbReleaseClaims, trace.VerbImage, trace.VerbPreStop, trace.VerbResize, trace.VerbResizePod, trace.VerbUnmount, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
	}
	if e.Err != "" || (r.Dur >= longEnough && e.Verb != trace.VerbImage) {
		return failed(what, e.Err)
	}
	return ""
}

func pull(r *trace.Record, e *trace.ImagePull) string {
	s := "pull " + e.Image
	switch {
	case e.Shared:
		s += " (another pod's pull)"
	case e.Bytes > 0 && e.Err == "":
		s += fmt.Sprintf(" (%s, %s)", human.Bytes(e.Bytes), human.Rate(e.Bytes, r.Dur))
	}
	return failed(s, e.Err)
}

// failed appends the error, if there is one.
func failed(what, err string) string {
	if err == "" {
		return what
	}
	return what + " failed: " + err
}

func ifFailed(what, err string) string {
	if err == "" {
		return ""
	}
	return failed(what, err)
}

// join joins the non-empty parts with colons.
func join(parts ...string) string {
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ": ")
}

// gate describes a command of a stepping user, and where in the action it was given.
func gate(e *trace.Gate) string {
	line := "gate"
	if e.When == trace.GateAfter {
		line += " after"
	}
	line += " " + e.Action
	if e.Call != "" {
		line += " " + e.Call
	}
	line += ": " + string(e.Verdict)
	if e.Delay > 0 {
		line += " " + e.Delay.String()
	}
	return join(line, e.Code)
}

func clockStepped(e *trace.ClockStepped) string {
	s := fmt.Sprintf("the wall clock was set forward by %s, or the machine was suspended", e.Step.Round(time.Millisecond))
	if e.Step < 0 {
		s = fmt.Sprintf("the wall clock was set back by %s", -e.Step.Round(time.Millisecond))
	}
	if e.Ahead > 0 {
		s += fmt.Sprintf("; times here are %s ahead of it", e.Ahead.Round(time.Millisecond))
	}
	return s
}

// probeOf returns an attempt's probe as the target of a wait.
func probeOf(e *trace.ProbeAttempt) trace.Target {
	return trace.Target{Kind: trace.TargetProbe, Name: string(e.Probe), Container: e.Container}
}
