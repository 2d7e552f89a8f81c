package why

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Report describes one life of a pod. Fields named _ns are in nanoseconds, those named _percent in percent.
//
// Many fields: it has the structure of the JSON report, which is flat so that jq can read it easily.
type Report struct {
	// Pod is _/node where the report is about a node.
	Pod  trace.Pod `json:"pod"`
	Node bool      `json:"node,omitempty"`
	// SeenBy says what the report is made from, where that is not an agent's own records, and what that cannot tell.
	SeenBy []string `json:"seen_by,omitempty"`
	// Stage is starting, up, down, ending, over, or unknown; Phase is the pod's phase as its last status has it.
	Stage cause.Stage `json:"stage"`
	Phase string      `json:"phase,omitempty"`
	// Reason and Message are of the pod's last status: Evicted, DeadlineExceeded, ...; empty if it has none.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Containers are the containers' states by the last status that has them. Warnings are the Kubernetes Events that warn, the last one last;
	// WarningsClipped is how many were omitted.
	Containers      []trace.ContainerStatus `json:"containers,omitempty"`
	Warnings        []Warning               `json:"warnings,omitempty"`
	WarningsClipped int                     `json:"warnings_clipped,omitempty"`
	// Unhealthy are the volumes of which their CSI drivers report problems.
	Unhealthy []VolumeHealth `json:"unhealthy_volumes,omitempty"`
	// Found says that the pod was found running: its start began before this agent, and nothing is known of it. SeenReady says that
	// records show it ready.
	Found     bool `json:"found_running,omitempty"`
	SeenReady bool `json:"seen_ready,omitempty"`
	// Now is the time of the query, or of the last record.
	Now    time.Time `json:"now"`
	Seen   time.Time `json:"seen,omitzero"`
	Source string    `json:"source,omitempty"`
	// Start, Ready and Told are how long after it was seen the pod had started, was ready, and the API had it that it is; 0 while it
	// has not, or where that is not known. Length is how long the critical path is, so far in a pod that has not come up.
	Start  time.Duration `json:"start_ns,omitempty"`
	Ready  time.Duration `json:"ready_ns,omitempty"`
	Told   time.Duration `json:"told_ns,omitempty"`
	Length time.Duration `json:"length_ns"`
	// Ending is since when the pod ends, End how long it took, so far until it is gone.
	Ending time.Time     `json:"ending,omitzero"`
	Gone   time.Time     `json:"gone,omitzero"`
	End    time.Duration `json:"end_ns,omitempty"`

	// Cause is one sentence. Lead is the finding that it is from; nil if it is from none.
	Cause string         `json:"cause"`
	Lead  *cause.Finding `json:"-"`
	// wait is Cause without what happens next, if Cause is about Waiting[0]; otherwise empty.
	wait string
	// Waiting is what the pod waits for or does now, if it is not up.
	Waiting []Waiting `json:"waiting,omitempty"`
	Phases  []Phase   `json:"phases,omitempty"`
	// EndPhases are what was done to end the pod; their Start is since it began to end.
	EndPhases []Phase   `json:"end_phases,omitempty"`
	Waits     []Wait    `json:"waits,omitempty"`
	Path      []Segment `json:"path,omitempty"`
	// Floor is the time that the runtime itself needed.
	Floor time.Duration `json:"floor_ns"`
	// Unexplained is the time on the critical path between seen and started that no record covers; in percent of that time.
	Unexplained        time.Duration   `json:"unexplained_ns"`
	UnexplainedPercent float64         `json:"unexplained_percent"`
	Findings           []cause.Finding `json:"findings"`
	// Incomplete says that records are known to be missing.
	Incomplete bool `json:"incomplete,omitempty"`
}

// Phase is one thing that was done for the pod. Start is since it was seen, where nothing else is said.
type Phase struct {
	Name  string        `json:"name"`
	Of    string        `json:"of,omitempty"`
	Start time.Duration `json:"start_ns"`
	Dur   time.Duration `json:"dur_ns"`
	// Share is Dur's of the critical path's length; OnPath is how much of it lies on the path.
	Share  float64       `json:"share_percent"`
	OnPath time.Duration `json:"on_path_ns"`
	Open   bool          `json:"open,omitempty"`
	Note   string        `json:"note,omitempty"`
	Err    string        `json:"err,omitempty"`
}

// Wait is all waits of one kind, until the pod was up. Waits may overlap, so Total may be longer than the start.
type Wait struct {
	For    trace.WaitKind `json:"for"`
	Count  int            `json:"count"`
	Total  time.Duration  `json:"total_ns"`
	OnPath time.Duration  `json:"on_path_ns"`
	// On is what was waited for longest.
	On string `json:"on"`
}

// Segment is a stretch of the critical path. Start is since the pod was seen.
type Segment struct {
	// Part is what the segment is spent on, Label its name.
	Part  waterfall.Part        `json:"-"`
	Kind  waterfall.SegmentKind `json:"kind"`
	Label string                `json:"label"`
	// On is what was waited for, for waits.
	On    string        `json:"on,omitempty"`
	Start time.Duration `json:"start_ns"`
	Dur   time.Duration `json:"dur_ns"`
}

// Waiting is something that continues in a pod that is not up.
type Waiting struct {
	// For is a kind of wait; empty for work.
	For trace.WaitKind `json:"for,omitempty"`
	// Target is what the pod waits for, On the same in words, Detail further text.
	Target trace.Target `json:"target,omitzero"`
	On     string       `json:"on"`
	Detail string       `json:"detail,omitempty"`
	// Pulls says that the work is a pull.
	Pulls bool          `json:"pulls,omitempty"`
	Since time.Time     `json:"since"`
	Dur   time.Duration `json:"dur_ns"`
	// Behind are the holders of what the pod waits for when the wait began.
	Behind []trace.Holder `json:"behind,omitempty"`
	// Next is what happens next, At when; zero if unknown.
	Next string    `json:"next,omitempty"`
	At   time.Time `json:"at,omitzero"`
}
