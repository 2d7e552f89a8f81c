package cause

import (
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// pullParts are a pull's two parts, as far as records tell: bytes arriving, and what the runtime did once all had arrived.
type pullParts struct {
	pull Span[*trace.ImagePull]
	// loaded is when bytes were last known to be missing, complete when all were first known to be there; either may be zero.
	loaded, complete time.Time
	// asked is when the first layer was requested, or the layers were first known: before that the registry answered for tokens and manifests.
	asked time.Time
	// bytes had arrived at complete, else at loaded.
	bytes      int64
	confidence Confidence
	evidence   []Evidence
}

// pullParts splits the pod's own pulls. Spans of the runtime tell best; else its events, else the progress that containerd's content
// store shows. A pull with none of these is left out.
func (c *Case) pullParts() (out []pullParts) {
	for _, p := range ownSpans[*trace.ImagePull](c) {
		if p.Event.Shared {
			continue
		}
		parts := pullParts{pull: p}
		if parts.bySpans(c) || parts.byEvents(c) || parts.byProgress(c) {
			out = append(out, parts)
		}
	}
	return out
}

// bySpans reads containerd's spans of the layers. That all have arrived is known when the pull has ended.
func (p *pullParts) bySpans(c *Case) bool {
	var last Point[*trace.RuntimeSpan]
	for _, s := range c.runtimeSpans(p.pull.ID()) {
		if !strings.HasSuffix(s.Event.Name, "fetchLayer") {
			continue
		}
		p.bytes += layerSize(s.Event)
		if at := spanStart(s.Event); p.asked.IsZero() || at.Before(p.asked) {
			p.asked = at
		}
		if last.Rec == nil || spanEnd(s.Event).After(spanEnd(last.Event)) {
			last = s
		}
	}
	if last.Rec == nil || p.pull.Open || p.pull.Err() != "" { // the spans of a pull that was canceled have the layers' whole sizes
		p.asked, p.bytes = time.Time{}, 0
		return false
	}
	p.loaded, p.complete, p.confidence = spanEnd(last.Event), spanEnd(last.Event), Certain
	p.evidence = append(p.evidence, evidence(last.Rec, "%s reported that the last layer had arrived %s after the pull began",
		last.Event.Service, took(p.loaded.Sub(p.pull.Start), false)))
	return true
}

// byEvents reads when layers were complete in containerd's content store, by its events. These name no pull: they are of the only one that
// went on.
func (p *pullParts) byEvents(c *Case) bool {
	var last Point[*trace.RuntimeSpan]
	for _, s := range c.runtimeSpans(p.pull.ID()) {
		if s.Event.Name != trace.SpanLayerArrived {
			continue
		}
		p.bytes += layerSize(s.Event)
		if last.Rec == nil || spanEnd(s.Event).After(spanEnd(last.Event)) {
			last = s
		}
	}
	if last.Rec == nil || p.pull.Open {
		p.bytes = 0
		return false
	}
	p.loaded, p.complete, p.confidence = spanEnd(last.Event), spanEnd(last.Event), Likely
	p.evidence = append(p.evidence, evidence(last.Rec, "an event of %s: the last layer had arrived %s after the pull began",
		last.Event.Service, took(p.loaded.Sub(p.pull.Start), false)))
	return true
}

// layerSize is the size of a layer that a span is about, in bytes; 0 when it does not say.
func layerSize(e *trace.RuntimeSpan) int64 {
	n, _ := strconv.ParseInt(attr(e, trace.AttrLayerSize), 10, 64) // what is none is 0
	return max(n, 0)
}

// byProgress reads what the content store had. It is looked at a few times a second: the last layer came between two looks.
func (p *pullParts) byProgress(c *Case) bool {
	for _, pr := range ownPoints[*trace.ImageProgress](c) {
		e := pr.Event
		if e.Source != trace.ProgressContentStore || e.Total <= 0 || pr.Rec.Parent != p.pull.ID() {
			continue
		}
		if p.asked.IsZero() && 50*e.Done <= e.Total {
			p.asked = pr.Rec.At()
		}
		p.bytes, p.confidence = e.Total, Likely // until more is to come
		if e.Done < e.Total {
			p.loaded, p.complete = pr.Rec.At(), time.Time{}
			p.evidence = []Evidence{evidence(pr.Rec, "%s had arrived %s after the pull began", say.Arrived(e.Done, e.Total), took(pr.Rec.At().Sub(p.pull.Start), false))}
			p.bytes = e.Done
			continue
		}
		if p.complete.IsZero() {
			p.complete = pr.Rec.At()
			p.evidence = append(p.evidence, evidence(pr.Rec, "all %s had arrived %s after the pull began", human.Bytes(e.Total), took(p.complete.Sub(p.pull.Start), false)))
		}
	}
	return !p.loaded.IsZero() || !p.complete.IsZero()
}

// arriving is from when on bytes could arrive: when the first layer was requested, or, if nobody tells, when the pull began. The content store is
// looked at a few times a second, so a look that comes soon is no later than the request.
func (p *pullParts) arriving() time.Time {
	if p.asked.Sub(p.pull.Start) < leastPart {
		return p.pull.Start
	}
	return p.asked
}

// runtimeSpans are the runtime's own spans below a span.
func (c *Case) runtimeSpans(under trace.SpanID) (out []Point[*trace.RuntimeSpan]) {
	ups := c.parents()
	for _, p := range ownPoints[*trace.RuntimeSpan](c) {
		if within(ups, p.Rec.Span, under) {
			out = append(out, p)
		}
	}
	return out
}

// arrived is until when bytes arrived: at most a look later than they did. Of a transfer that stalls, that is now.
func (p *pullParts) arrived() time.Time {
	switch {
	case !p.complete.IsZero():
		return p.complete
	case p.pull.Open && p.pull.Stop.Sub(p.loaded) >= stalledFor:
		return p.pull.Stop
	}
	return p.loaded
}

// longPart is how long a part of a pull takes at least to be spoken of: longer where processors have no room, which KL23 says.
func (c *Case) longPart() time.Duration {
	if c.starvedNode() {
		return 2 * leastPart
	}
	return leastPart
}

func spanStart(e *trace.RuntimeSpan) time.Time { return time.Unix(0, e.Start) }
func spanEnd(e *trace.RuntimeSpan) time.Time   { return spanStart(e).Add(e.Dur) }
