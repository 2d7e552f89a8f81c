package podruntime

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Step is one action of a plan.
type Step struct {
	// ID names the step within its plan.
	ID   string
	Verb trace.Verb
	// Needs are the IDs of the steps that must have succeeded before.
	Needs []string
	// After are the IDs of the steps that must have ended before, successfully or not.
	After []string
	// Container is the container's name, where one is concerned.
	Container string
	// Target is the id of the container or sandbox, or the image.
	Target string
	// Attempt is the sandbox's or container's attempt.
	Attempt uint32
	// Grace is the grace period of a kill, in seconds, counted from the plan's begin: hooks and
	// the wait for others use it up.
	Grace int64
	// Timeout is how long After is waited for, in seconds from the plan's begin; 0 is for ever.
	Timeout int64
	// Message is the text of the kill for users; "" for the usual text.
	Message string
	// Policy is the pull policy of an image.
	Policy trace.PullPolicy
	// Reason says why the step is in the plan.
	Reason string
	// Replaces says what is wrong with the sandbox that a new one replaces.
	Replaces trace.SandboxFault
}

// Plan is what to do for a pod now.
type Plan struct {
	Steps []Step
	// Why says what was found that led here.
	Why string
	// RetryAt is when a back-off runs out that keeps a container from starting; zero for none.
	RetryAt time.Time
	// Waiting are the containers that do not start now, with the reasons for users.
	Waiting map[string]Reason
	// Decisions are the decisions about containers that exited.
	Decisions []trace.Decision
	// Init is the init container that runs, or is about to, while the others wait for its end.
	Init string
	// Finished says that no container runs and none will be started: the pod is finished.
	Finished bool
	// Reset says that all containers are removed, and the pod starts again afterwards.
	Reset bool
	// Ending says that the plan is part of the pod's end.
	Ending bool
}

// Reason is why a container waits, in the words that users know.
type Reason struct {
	Reason  string
	Message string
}

func (p *Plan) add(s Step) string {
	p.Steps = append(p.Steps, s)
	return s.ID
}

func (p *Plan) has(id string) bool {
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return true
		}
	}
	return false
}

func (p *Plan) wait(container string, r Reason) {
	if p.Waiting == nil {
		p.Waiting = map[string]Reason{}
	}
	p.Waiting[container] = r
}

// acts reports whether the plan asks the runtime to change something. Finding out
// what an earlier agent prepared does not.
func (p *Plan) acts() bool {
	for i := range p.Steps {
		switch p.Steps[i].Verb { //nolint:exhaustive // all others ask the runtime
		case trace.VerbCgroup, trace.VerbDirs, trace.VerbVolumes:
		default:
			return true
		}
	}
	return false
}

// Trace returns the plan as data.
func (p *Plan) Trace() trace.Plan {
	out := trace.Plan{Why: p.Why}
	for _, s := range p.Steps {
		needs := append(append([]string(nil), s.Needs...), s.After...)
		out.Steps = append(out.Steps, trace.PlanStep{ID: s.ID, Verb: s.Verb, Needs: needs, Reason: s.Reason})
	}
	return out
}

func shortID(id string) string { return id[:min(12, len(id))] }
