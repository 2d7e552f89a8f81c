package cause

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func surprise() Rule {
	return Rule{
		ID: "KL22", Name: "GC or eviction surprise",
		About: "The node itself took away what the pod needed: image garbage collection removed the image that the pod then had to pull, or the pod " +
			"was terminated to make room (preemption, eviction). It is reported when the verdict that removed the image is on record, nobody pulled it in " +
			"between, and the pull took 10 ms and 5 % of the critical path or more.",
		Find: findSurprise,
	}
}

func findSurprise(c *Case) (out []Finding) {
	pulls := ownSpans[*trace.ImagePull](c)
	for i := range pulls {
		p := &pulls[i]
		d := c.removedBefore(p)
		cost := covered(c.on(p.ID(), p.Start, p.Stop))
		if d == nil || !c.speaks(cost, p.Open && !c.up()) {
			continue
		}
		out = append(out, Finding{
			Confidence: Certain, Cost: cost, Current: p.Open && !c.up(),
			Sentence: fmt.Sprintf("image garbage collection removed %s, and %s later the pod had to pull it again: %s",
				human.Image(p.Event.Image), human.Duration(p.Start.Sub(d.Rec.At())), took(cost, p.Open)),
			Evidence: []Evidence{
				evidence(d.Rec, "%s is removed: %s", human.Image(d.Event.Subject), quoted(d.Event.Reason)),
				evidence(p.Rec(), "pull of %s: %s", human.Image(p.Event.Image), took(p.Dur(), p.Open)),
			},
			Remedy: "Give images more room, or raise imageGCHighThresholdPercent or imageMinimumGCAge (imageMaximumGCAge, if it was removed for its age); " +
				"pin the image in the runtime if it must stay.",
			RuledOutBy: "The pod pulls the image on a node that has it, too: its pull policy is Always.",
		})
	}
	if f := c.madeRoom(); f != nil {
		out = append(out, *f)
	}
	return out
}

// removedBefore is the verdict that removed the image before the pod pulled it; nil when there is none, or when others pulled it since.
func (c *Case) removedBefore(p *Span[*trace.ImagePull]) (found *Point[*trace.Decision]) {
	verdicts := nodePoints[*trace.Decision](c)
	for i := range verdicts {
		d := &verdicts[i]
		if d.Event.By == trace.ByImageGC && d.Event.Verdict == trace.VerdictRemove && d.Rec.At().Before(p.Start) && sameImage(d.Event.Subject, p.Event.Image) {
			found = d
		}
	}
	if found == nil {
		return nil
	}
	for _, other := range nodeSpans[*trace.ImagePull](c) {
		if sameImage(other.Event.Image, p.Event.Image) && other.Stop.After(found.Rec.At()) && other.Stop.Before(p.Start) && other.Err() == "" && !other.Open {
			return nil
		}
	}
	return found
}

// sameImage reports whether two references name the same image, however much of it is left to the defaults.
func sameImage(a, b string) bool { return a != "" && fullImage(a) == fullImage(b) }

func fullImage(ref string) string {
	first, _, more := strings.Cut(ref, "/")
	switch {
	case !more:
		ref = "docker.io/library/" + ref
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		ref = "docker.io/" + ref
	}
	if last := ref[strings.LastIndexByte(ref, '/')+1:]; !strings.ContainsAny(last, ":@") {
		ref += ":latest"
	}
	return ref
}

// madeRoom is the verdict that ended the pod to make room for another, or because the node ran out of something.
func (c *Case) madeRoom() *Finding {
	for _, all := range [][]Point[*trace.Decision]{ownPoints[*trace.Decision](c), nodePoints[*trace.Decision](c)} {
		for _, d := range all {
			if d.Event.By != trace.ByPreemption && d.Event.By != trace.ByEviction || d.Event.Verdict != trace.VerdictEnd || d.Rec.Pod.String() != c.Pod.String() {
				continue
			}
			if d.Event.By == trace.ByEviction && d.Event.Signal != "" {
				return c.evicted(&d)
			}
			return &Finding{
				Confidence: Certain, Sentence: "the node terminated the pod (" + string(d.Event.By) + "): " + quoted(d.Event.Reason), Cost: covered(c.endStretch()), End: covered(c.endStretch()), Current: c.Stage() == Ending,
				Evidence:   []Evidence{evidence(d.Rec, "%s by %s: %s", d.Event.Verdict, d.Event.By, quoted(d.Event.Reason))},
				Remedy:     "Give the pod a priority and requests that fit what it is worth, and keep room for critical pods on the node.",
				RuledOutBy: "The pod was deleted in the API at that time: its deletionTimestamp is earlier than the verdict.",
			}
		}
	}
	return nil
}
