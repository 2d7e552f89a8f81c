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
	// Needs are the IDs of the steps that must succeed before.
	Needs []string
	// After are the IDs of the steps that must end before, successfully or not.
	After []string
	// Container is the container's name, if the step is for one.
	Container string
	// Target is the id of the container or sandbox, or the image.
	Target string
	// Attempt is the sandbox's or container's attempt.
	Attempt uint32
	// Grace is the grace period of a kill, in seconds, from the plan's begin, including hooks and waits for other
	// containers.
	Grace int64
	// Timeout limits the wait for After, in seconds from the plan's begin; 0 means no limit.
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

// Plan is the work for a pod now.
type Plan struct {
	Steps []Step
	// Why says which observation led to the plan.
	Why string
	// RetryAt is when the back-off of a container ends; zero for none.
	RetryAt time.Time
	// Waiting are the containers that do not start now, with the reasons for users.
	Waiting map[string]Reason
	// Decisions are the decisions about containers that exited.
	Decisions []trace.Decision
	// Init is the init container that runs, or is about to, while the others wait for its exit.
	Init string
	// Finished says that no container runs and none will be started: the pod is finished.
	Finished bool
	// Reset says that all containers are removed, and the pod starts again afterwards.
	Reset bool
	// Ending says that the plan is part of the pod's termination.
	Ending bool
}

// Reason is the reason and message of a waiting container, with upstream's words.
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

// acts reports whether the plan changes something in the runtime. Looking up what an earlier agent prepared does not.
func (p *Plan) acts() bool {
	for i := range p.Steps {
		switch p.Steps[i].Verb { //nolint:exhaustive // all others ask the runtime
		case trace.VerbCgroup, trace.VerbDirs, trace.VerbVolumes, trace.VerbClaims:
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
