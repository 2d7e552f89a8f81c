package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Explain returns the report on the case's pod.
func Explain(c *cause.Case) *Report {
	r := &Report{
		Pod: c.Pod, Stage: c.Stage(), Found: c.Found(), SeenReady: c.SeenReady(), Now: c.Now, Incomplete: c.Incomplete, Findings: cause.Find(c),
	}
	if r.Findings == nil {
		r.Findings = []cause.Finding{} // an empty list in JSON too
	}
	r.life(c)
	r.told(c)
	rejection, rejected := c.Rejected()
	if c.Waterfall != nil && !rejected { // nothing was done for a rejected pod
		r.start(c)
	}
	if !r.Ending.IsZero() {
		r.ends(c)
	}
	if r.Stage == cause.Starting || r.Stage == cause.Down || r.Stage == cause.Ending {
		r.Waiting = waiting(c)
	}
	if rejected && r.Stage == cause.Starting && r.Start == 0 {
		r.Stage, r.Phase, r.Cause = cause.Over, cmp.Or(r.Phase, "Failed"), noise.Of("the kubelet rejected it: "+strings.TrimSuffix(rejection, ".")+".")
		return r
	}
	if r.Stage == cause.Starting && r.Seen.IsZero() && r.Start == 0 && r.Ready == 0 && !r.known() {
		r.Stage = cause.Unknown
	}
	r.Cause = noise.Of(r.sentence(c))
	return r
}

// ExplainNode returns the report on the case's node, without a pod; nil if no problem is known.
func ExplainNode(c *cause.Case) *Report {
	found := cause.FindNode(c)
	if len(found) == 0 {
		return nil
	}
	return (&NodeReport{Now: c.Now, Findings: found, Cause: found[0].Sentence + "."}).Report()
}

// life sets what is known from milestones and statuses.
func (r *Report) life(c *cause.Case) {
	for i := range c.Records {
		rec := &c.Records[i]
		switch e := rec.Event.(type) {
		case *trace.PodStatus:
			r.Phase = string(e.Phase)
		case *trace.Milestone:
			switch e.Name {
			case trace.MilestoneSeen:
				r.Seen, r.Source = rec.At(), string(e.Source)
			case trace.MilestoneTerminating:
				r.Ending = rec.At()
			case trace.MilestoneGone:
				r.Gone = rec.At()
				if r.Ending.IsZero() && e.Since > 0 {
					r.Ending = rec.At().Add(-e.Since)
				}
			case trace.MilestoneStarted, trace.MilestoneReady:
			}
		}
	}
	if !r.Ending.IsZero() {
		r.End = earliest(r.Gone, c.Rests(), c.Now).Sub(r.Ending)
	}
}

// earliest returns the first of times, ignoring zero times.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// start sets what is known from the waterfall.
func (r *Report) start(c *cause.Case) {
	w := c.Waterfall
	r.Start, r.Ready, r.Told = max(w.Started, 0), max(w.Ready, 0), max(w.Told, 0)
	r.Length = max(w.Length(), w.Ready)
	if w.SeenKnown {
		r.Seen = w.Origin
	}
	r.Floor, r.Incomplete = w.Floor, r.Incomplete || w.Incomplete
	r.Unexplained, r.UnexplainedPercent = w.Unexplained, share(w.Unexplained, w.Length())
	r.path(c)
	r.phases(w)
	r.waits(c)
}

// path sets the critical path, with the targets of its waits.
func (r *Report) path(c *cause.Case) {
	on := map[trace.SpanID]string{}
	for i := range c.Records {
		if e, ok := c.Records[i].Event.(*trace.Wait); ok {
			on[c.Records[i].Span] = say.On(e)
		}
	}
	for _, s := range slices.Concat(c.Waterfall.Path, c.Waterfall.Tail) {
		r.Path = append(r.Path, Segment{Part: s.Part, Kind: s.Kind, Label: s.Label(), On: on[s.Span()], Start: s.Start, Dur: s.Dur()})
	}
}

// phases sets the phases from the waterfall's top-level rows, except waits and the termination.
func (r *Report) phases(w *waterfall.Waterfall) {
	rows, path := w.Rows(), slices.Concat(w.Path, w.Tail)
	for i, row := range rows {
		ends := !r.Ending.IsZero() && row.Start >= r.Ending.Sub(w.Origin) || row.Open && row.Dur() == 0
		if row.Depth > 0 || row.Kind == waterfall.RowSeen || row.Kind == waterfall.RowWait || ends {
			continue
		}
		spans := map[trace.SpanID]bool{row.Span: row.Span != 0}
		for _, k := range rows[i+1:] {
			if k.Depth == 0 {
				break
			}
			spans[k.Span] = k.Span != 0
		}
		p := Phase{
			Name: row.Label, Of: row.Detail, Start: row.Start, Dur: row.Dur(), Share: share(row.Dur(), r.Length), Open: row.Open,
			Note: row.Note, Err: row.Err,
		}
		for _, s := range path {
			if spans[s.Span()] {
				p.OnPath += max(min(s.End, row.End)-max(s.Start, row.Start), 0)
			}
		}
		r.Phases = append(r.Phases, p)
	}
}

// ends sets the phases of the termination.
func (r *Report) ends(c *cause.Case) {
	for _, s := range pair.In[*trace.Action](c.Records, c.Now) {
		if s.Start.Before(r.Ending) {
			continue
		}
		first, _ := s.First().Event.(*trace.Action)
		r.EndPhases = append(r.EndPhases, Phase{
			Name: first.ID, Start: s.Start.Sub(r.Ending), Dur: s.Dur(), Share: share(s.Dur(), r.End), Open: s.Open, Err: s.Event.Err,
		})
	}
}

// waits adds up all waits of the pod until it was up.
func (r *Report) waits(c *cause.Case) {
	until := c.Waterfall.Origin.Add(c.Waterfall.End)
	if c.Waterfall.Ready >= 0 {
		until = c.Waterfall.Origin.Add(c.Waterfall.Ready)
	}
	by := map[trace.WaitKind]*Wait{}
	longest := map[trace.WaitKind]time.Duration{}
	for _, s := range openAndClosed(c, until) {
		w := by[s.event.For]
		if w == nil {
			w = &Wait{For: s.event.For}
			by[s.event.For] = w
		}
		w.Count++
		w.Total += s.dur
		if s.dur >= longest[s.event.For] {
			w.On, longest[s.event.For] = say.On(s.event), s.dur
		}
	}
	for _, s := range slices.Concat(c.Waterfall.Path, c.Waterfall.Tail) {
		if w := by[s.Wait]; s.Kind == waterfall.SegmentWait && w != nil {
			w.OnPath += s.Dur()
		}
	}
	for _, w := range by {
		r.Waits = append(r.Waits, *w)
	}
	sorting.Stable(r.Waits, func(a, b *Wait) int {
		if a.OnPath != b.OnPath {
			return int(b.OnPath - a.OnPath)
		}
		if a.Total != b.Total {
			return int(b.Total - a.Total)
		}
		return strings.Compare(string(a.For), string(b.For))
	})
}

// sentence returns one sentence about what determined the duration, or what blocks the pod now.
func (r *Report) sentence(c *cause.Case) string {
	if f := r.best(c); f != nil {
		r.Lead = f
		s := f.Sentence
		if f.Current && len(r.Waiting) > 0 && !r.Waiting[0].At.IsZero() {
			s += "; " + r.Waiting[0].NextText(r.Now)
		}
		return s + "."
	}
	if s := c.WhyDown(); r.Stage == cause.Down && s != "" {
		return s + "."
	}
	if len(r.Waiting) > 0 {
		w := r.Waiting[0]
		s := "it " + w.Text() + ", " + human.Duration(w.Dur) + " so far"
		r.wait = noise.Of(s + ".")
		if w.Next != "" {
			s += "; " + w.NextText(r.Now)
		}
		return s + "."
	}
	unwanted, ended := c.Unwanted()
	switch {
	case ended:
		return "it was found running and was ended by housekeeping: " + strings.TrimSuffix(unwanted, ".") + "."
	case r.Stage == cause.Ending:
		return "it is terminating, and no record shows what it waits for."
	case r.Found:
		if r.Stage == cause.Down && !r.SeenReady {
			return "it is not ready, and no record shows what it waits for."
		}
		return "nothing delays it."
	case r.Stage == cause.Down:
		return "it was ready and no longer is, and no record shows what it waits for."
	case r.Stage == cause.Unknown:
		return "no record shows whether it started."
	case c.Waterfall == nil:
		return "no record shows its start."
	case c.Waterfall.Unknown():
		return "no record shows what it waits for."
	}
	if s := c.WhyLate(r.Start, r.Ready); s != "" {
		return s + "."
	}
	return strings.TrimSuffix(c.Waterfall.Why(), ".") + "."
}

// best returns the finding that explains most: a current one if the pod is not up, else one about the time since it is no longer ready, if
// that is so, else a certain one if the pod has not started, else the first one about the start, if it costs at least as much as any part of the critical path, or half of
// the path. It may return nil.
func (r *Report) best(c *cause.Case) *cause.Finding {
	for i := range r.Findings {
		if r.Findings[i].Current {
			return &r.Findings[i]
		}
	}
	if r.Stage == cause.Down {
		return cause.Since(r.Findings, c.DownSince())
	}
	if len(r.Findings) == 0 || c.Waterfall == nil || len(r.Waiting) > 0 {
		return nil
	}
	if c.Waterfall.Started < 0 { // nothing else says why
		for i := range r.Findings {
			if f := &r.Findings[i]; f.End == 0 && f.Cost > 0 && f.Confidence == cause.Certain {
				return f
			}
		}
	}
	by := map[waterfall.Part]time.Duration{}
	var most time.Duration
	for _, s := range r.Path {
		by[s.Part] += s.Dur
		most = max(most, by[s.Part])
	}
	first := slices.IndexFunc(r.Findings, func(f cause.Finding) bool { return f.End == 0 }) // the sentence is about the start
	if first < 0 {
		return nil
	}
	if f := &r.Findings[first]; f.Cost > 0 && (f.Cost >= most || 2*f.Cost >= r.Length) {
		return f
	}
	return nil
}

// share returns a as a percentage of b; 0 if b is not positive.
func share(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return 100 * float64(a) / float64(b)
}
