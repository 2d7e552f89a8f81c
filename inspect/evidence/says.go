package evidence

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// NodeConditions returns the conditions of every node, in the usual order.
func NodeConditions() []string {
	return []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}
}

// Ends reports whether a worker's event says that its pod terminates or has terminated. The end of the worker itself does not: the pod may
// have been added again before.
func Ends(e *trace.Worker) bool {
	switch e.To {
	case trace.WorkerTerminating, trace.WorkerTerminated:
		return true
	case trace.WorkerNone, trace.WorkerSyncing, trace.WorkerGone:
	}
	return false
}

// Counts reports whether a probe's attempt counts: one that failed before it was due does not.
func Counts(e *trace.ProbeAttempt) bool { return e.Result != "" && (!e.Early || !Failed(e)) }

// Failed reports whether a finished attempt of a probe failed.
func Failed(e *trace.ProbeAttempt) bool {
	return e.Result == trace.ProbeFailure || e.Result == trace.ProbeError
}

// RetryAt returns when a back-off permits the next attempt, according to its decision; zero if it is no back-off, or
// has no time.
func RetryAt(d *trace.Decision) time.Time {
	if d.Until <= 0 || d.By != trace.ByBackoff && d.By != trace.ByRestart {
		return time.Time{}
	}
	return time.Unix(0, d.Until)
}

// Answer is what a finished request shows about the API server.
type Answer int

// The answers.
const (
	NoAnswer  Answer = iota // the caller disconnected
	Answered                // also an error of the caller
	Unhealthy               // the server, or the connection to it, failed
)

// Health distinguishes failures of the API server, or of the connection to it, from responses to the caller.
func Health(e *trace.APICall) Answer {
	switch {
	case e.Class == trace.FailCanceled:
		return NoAnswer
	case e.Code != 0 && e.Code != 429 && e.Code < 500:
		return Answered
	}
	return Unhealthy
}

// Refused reports whether a finished request did not succeed.
func Refused(e *trace.APICall) bool { return e.Err != "" || e.Code >= 400 }

// Lease reports whether a finished request is about the node's lease, and whether it renewed or created it.
func Lease(e *trace.APICall) (says, renewed bool) {
	if e.Resource != "leases" || e.Verb == trace.APIWatch || e.Verb == trace.APIList {
		return false, false
	}
	return Refused(e) || e.Verb != trace.APIGet, !Refused(e) && e.Verb != trace.APIGet
}

// Manifest identifies what a source of pods reads: a file, or a pod if no file is known.
type Manifest struct {
	Source trace.SourceName
	Path   string
}

// ManifestOf returns the manifest of an error, or of a delivery.
func ManifestOf(source trace.SourceName, path string, pod trace.Pod) Manifest {
	return Manifest{source, cmp.Or(path, pod.String())}
}

// Delivered reports whether a source's event says that a manifest of it is valid.
func Delivered(r *trace.Record, e *trace.Source) bool {
	return r.Edge != trace.EdgeBegin && (e.Path != "" || !r.Pod.IsZero())
}
