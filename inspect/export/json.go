package export

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Version is the version of Start's JSON. Fields may be added within one.
const Version = 1

// Start is a waterfall as JSON. Durations are in nanoseconds since the origin; milestones that were not reached and unknown values
// are omitted.
type Start struct {
	Version int       `json:"version"`
	Pod     trace.Pod `json:"pod"`
	Source  string    `json:"source,omitempty"`
	Phase   string    `json:"phase,omitempty"`
	// Origin is when the pod was seen, or the first record where Seen is false.
	Origin     time.Time  `json:"origin"`
	Seen       bool       `json:"seen"`
	Milestones Milestones `json:"milestones"`
	// Floor is the time that the runtime itself needed.
	Floor time.Duration `json:"floor_ns,omitempty"`
	// Path leads from the origin to started, Tail on to ready.
	Path        []Segment     `json:"path"`
	Tail        []Segment     `json:"tail,omitempty"`
	Waits       []Wait        `json:"waits"`
	Unexplained time.Duration `json:"unexplained_ns"`
	Incomplete  bool          `json:"incomplete,omitempty"`
	Cause       string        `json:"cause,omitempty"`
	Why         string        `json:"why"`
	Rows        []Row         `json:"rows"`
}

// Milestones are points of a start. API is when the API had it that the pod is ready; End
// is where the drawing ends.
type Milestones struct {
	Started *time.Duration `json:"started_ns,omitempty"`
	Ready   *time.Duration `json:"ready_ns,omitempty"`
	API     *time.Duration `json:"api_ns,omitempty"`
	End     time.Duration  `json:"end_ns"`
}

// Segment is a stretch of the critical path.
type Segment struct {
	Kind  waterfall.SegmentKind `json:"kind"`
	Label string                `json:"label"`
	Wait  trace.WaitKind        `json:"wait,omitempty"`
	Start time.Duration         `json:"start_ns"`
	Dur   time.Duration         `json:"dur_ns"`
}

// Wait is how long the critical path waited for one kind of thing.
type Wait struct {
	For trace.WaitKind `json:"for"`
	Dur time.Duration  `json:"dur_ns"`
}

// Row is one bar.
type Row struct {
	Kind     waterfall.RowKind `json:"kind"`
	Label    string            `json:"label"`
	Detail   string            `json:"detail,omitempty"`
	Verb     string            `json:"verb,omitempty"`
	Wait     trace.WaitKind    `json:"wait,omitempty"`
	Depth    int               `json:"depth,omitempty"`
	Start    time.Duration     `json:"start_ns"`
	Dur      time.Duration     `json:"dur_ns"`
	Critical bool              `json:"critical,omitempty"`
	Open     bool              `json:"open,omitempty"`
	Note     string            `json:"note,omitempty"`
	Err      string            `json:"err,omitempty"`
	Span     trace.SpanID      `json:"span,omitzero"`
	// Observer is who observed it, omitted for the agent itself; Precision is how exactly the times are known, omitted if as
	// exactly as the observer's clock.
	Observer  trace.Observer `json:"observer,omitzero"`
	Precision time.Duration  `json:"precision_ns,omitempty"`
}

// JSON writes the waterfall as a Start, indented.
func JSON(w io.Writer, f *waterfall.Waterfall) error {
	enc := json.NewEncoder(human.Writer(w))
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Of(f)); err != nil {
		return fmt.Errorf("write JSON of %s: %w", f.Pod, err)
	}
	return nil
}

// Of returns the waterfall as a Start.
func Of(f *waterfall.Waterfall) Start {
	s := Start{
		Version: Version, Pod: f.Pod, Source: string(f.Source), Phase: f.Phase, Origin: f.Origin.UTC(), Seen: f.SeenKnown,
		Milestones: Milestones{Started: reached(f.Started), Ready: reached(f.Ready), API: reached(f.Told), End: f.End},
		Floor:      f.Floor, Path: segments(f.Path), Tail: segments(f.Tail), Waits: []Wait{}, Unexplained: f.Unexplained,
		Incomplete: f.Incomplete, Cause: f.Cause(), Why: f.Why(), Rows: []Row{},
	}
	for _, x := range f.Waits {
		s.Waits = append(s.Waits, Wait{For: x.For, Dur: x.Dur})
	}
	for _, r := range f.Rows() {
		s.Rows = append(s.Rows, Row{
			Kind: r.Kind, Label: r.Label, Detail: r.Detail, Verb: string(r.Verb), Wait: r.Wait, Depth: r.Depth, Start: r.Start, Dur: r.Dur(),
			Critical: r.Critical, Open: r.Open, Note: r.Note, Err: r.Err, Span: r.Span,
			Observer: r.Observer, Precision: r.Precision,
		})
	}
	return s
}

// reached returns nil for what was not.
func reached(d time.Duration) *time.Duration {
	if d < 0 {
		return nil
	}
	return &d
}

func segments(in []waterfall.Segment) []Segment {
	out := []Segment{}
	for _, s := range in {
		out = append(out, Segment{Kind: s.Kind, Label: s.Label(), Wait: s.Wait, Start: s.Start, Dur: s.Dur()})
	}
	return out
}
