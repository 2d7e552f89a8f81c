package evidence

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// NodeConditions are the conditions that every node has, in the order in which people list them.
func NodeConditions() []string {
	return []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}
}

// Done reports whether a pod in a phase has done what it was to do, or failed to: its containers run no more.
func Done(phase trace.PodPhase) bool { return phase == trace.PodSucceeded || phase == trace.PodFailed }

// Ends reports whether a worker's word says that its pod ends, or has ended.
func Ends(e *trace.Worker) bool {
	switch e.To {
	case trace.WorkerTerminating, trace.WorkerTerminated, trace.WorkerGone:
		return true
	case trace.WorkerNone, trace.WorkerSyncing:
	}
	return false
}

// Counts reports whether an attempt of a probe says something of the container: one that failed before it was due does not.
func Counts(e *trace.ProbeAttempt) bool { return e.Result != "" && (!e.Early || !Failed(e)) }

// Failed reports whether an attempt of a probe that ended did not go well.
func Failed(e *trace.ProbeAttempt) bool {
	return e.Result == trace.ProbeFailure || e.Result == trace.ProbeError
}

// RetryAt is when a back-off lets the next try happen, as the decision that imposed it has it; zero when it is none, or does not say.
func RetryAt(d *trace.Decision) time.Time {
	if d.Until <= 0 || d.By != trace.ByBackoff && d.By != trace.ByRestart {
		return time.Time{}
	}
	return time.Unix(0, d.Until)
}

// Answer is what a request that ended says of the API server.
type Answer int

// The answers.
const (
	NoAnswer  Answer = iota // who asked went away
	Answered                // also what is an error of who asked
	Unhealthy               // the server, or the way to it, failed
)

// Health tells failures of the API server, or of the way to it, from answers that are for who asked.
func Health(e *trace.APICall) Answer {
	switch {
	case e.Class == trace.FailCanceled:
		return NoAnswer
	case e.Code != 0 && e.Code != 429 && e.Code < 500:
		return Answered
	}
	return Unhealthy
}

// Refused reports whether a request that ended did not do what it was to do.
func Refused(e *trace.APICall) bool { return e.Err != "" || e.Code >= 400 }

// Lease reports whether a request that ended says something of the node's lease; renewed where it made it anew.
func Lease(e *trace.APICall) (says, renewed bool) {
	if e.Resource != "leases" || e.Verb == trace.APIWatch || e.Verb == trace.APIList {
		return false, false
	}
	return Refused(e) || e.Verb != trace.APIGet, !Refused(e) && e.Verb != trace.APIGet
}

// Manifest names what a source of pods read: a file, or a pod where no file is known.
type Manifest struct {
	Source trace.SourceName
	Path   string
}

// ManifestOf is that of an error, or of what was delivered.
func ManifestOf(source trace.SourceName, path string, pod trace.Pod) Manifest {
	return Manifest{source, cmp.Or(path, pod.String())}
}

// Delivered reports whether a word of a source says that a manifest of it is good.
func Delivered(r *trace.Record, e *trace.Source) bool {
	return r.Edge != trace.EdgeBegin && (e.Path != "" || !r.Pod.IsZero())
}
