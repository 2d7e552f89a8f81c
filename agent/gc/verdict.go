package gc

import "github.com/kubeloupe/kubeloupe/trace"

// Kind is the kind of object that a verdict is about.
type Kind string

// The kinds.
const (
	KindContainer Kind = "container"
	KindSandbox   Kind = "sandbox"
	KindLogDir    Kind = "log directory"
	KindLogLink   Kind = "log link"
	KindImage     Kind = "image"
)

// Verdict is the decision about one candidate, with the reason.
type Verdict struct {
	Kind Kind
	// ID is the runtime's ID, or for logs the path below their directory.
	ID string
	// Subject names it for people.
	Subject string
	Remove  bool
	// Reason is one sentence.
	Reason string
	// Ground is why an image is removed; none if it is kept.
	Ground trace.RemovalGround
	// Inputs are the figures of the verdict.
	Inputs []trace.KV
	// Bytes is the known space that the removal frees: the size of an image, of a directory, of a container's log files. The
	// runtime does not report the size of a dead container's layer.
	Bytes int64

	sandbox string // of a container
	handler string // runtime handler of an image
	unknown bool   // the runtime does not know its state: stop it before its removal
	logs    string // pattern of a container's log files, below the pods' log directory
}

// key identifies the image on the node.
func (v *Verdict) key() string { return v.ID + "," + v.handler }

// kept returns the verdict to keep the object after its removal failed.
func (v Verdict) kept(err error) Verdict {
	v.Remove, v.Ground = false, ""
	v.Reason = "it could not be removed: " + err.Error()
	return v
}

// decision returns the verdict as an event.
func (v *Verdict) decision(by trace.Decider) trace.Decision {
	verdict := trace.VerdictKeep
	if v.Remove {
		verdict = trace.VerdictRemove
	}
	return trace.Decision{By: by, Subject: v.Subject, Verdict: verdict, Reason: v.Reason, Ground: v.Ground, Inputs: v.Inputs, Bytes: v.Bytes}
}

// Summary is the result of a pass.
type Summary struct {
	// Considered and Removed count candidates.
	Considered, Removed int
	// Freed is in bytes.
	Freed int64
}

func (s *Summary) add(v *Verdict) {
	s.Considered++
	if v.Remove {
		s.Removed++
		s.Freed += v.Bytes
	}
}
