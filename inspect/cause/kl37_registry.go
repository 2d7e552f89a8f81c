package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func slowRegistry() Rule {
	return Rule{
		ID: "KL37", Name: "registry slow to answer",
		About: "Before the first layer of an image was requested, the registry, or its server of tokens, took 500ms of the critical path or more to answer: " +
			"for the name, a token, the manifest. Containerd's spans of its requests show that. Of a pull that continues, it is reported when " +
			"nothing was known of the image's layers 5s after it began, on a containerd whose content store or spans are observed.",
		Find: findSlowRegistry,
	}
}

// requestSpan ends the name of containerd's span of a request to a registry, tokenSpan of one to its server of tokens.
const (
	requestSpan = "resolver.HTTPRequest"
	tokenSpan   = "resolver.FetchToken"
)

func findSlowRegistry(c *Case) (out []Finding) {
	for _, p := range ownSpans[*trace.ImagePull](c) {
		if p.Event.Shared {
			continue
		}
		f := Finding{Confidence: Certain}
		what := "the registry took"
		if at, ok := c.silentFor(&p); ok {
			f.Confidence, f.Current, f.Cost = Likely, true, c.Now.Sub(at)
			f.Evidence = append(f.Evidence, evidence(p.Rec(), "pull of %s: %s, and nothing is known of its layers yet", human.Image(p.Event.Image), took(p.Dur(), true)))
			what = "the registry has not answered for"
		} else if f.Cost, f.Evidence = c.answering(&p); f.Cost < leastPart || !c.material(f.Cost) {
			continue
		}
		f.Evidence = few(f.Evidence)
		f.Sentence = fmt.Sprintf("%s %s to tell what the image %s consists of, before any layer was requested", what, took(f.Cost, f.Current), human.Image(p.Event.Image))
		f.Remedy = "Ask the registry from the node: curl -v https://REGISTRY/v2/ (and the realm of its WWW-Authenticate header for the token). See to its load, to a proxy or " +
			"firewall between, and to the name's resolution; or use a mirror."
		f.RuledOutBy = "curl from the node has an answer for the same manifest at once, at that time."
		out = append(out, f)
	}
	return out
}

// silentFor is since when a pull that continues got no answer.
func (c *Case) silentFor(p *Span[*trace.ImagePull]) (since time.Time, silent bool) {
	if !p.Open || p.Dur() < stalledFor || !c.stuck() || !c.seesContent() {
		return since, false
	}
	for _, pr := range ownPoints[*trace.ImageProgress](c) {
		if pr.Rec.Parent == p.ID() && pr.Event.Total > 0 {
			return since, false
		}
	}
	return p.Start, true
}

// seesContent reports whether the runtime is a containerd that is observed, so that what it does not show does not happen.
func (c *Case) seesContent() bool {
	for _, own := range []bool{true, false} {
		for _, s := range points[*trace.RuntimeSpan](c, own) {
			if s.Event.Service == "containerd" {
				return true
			}
		}
		for _, p := range points[*trace.ImageProgress](c, own) {
			if p.Event.Source == trace.ProgressContentStore {
				return true
			}
		}
	}
	return false
}

// answering is how long requests to the registry took before the first layer was requested.
func (c *Case) answering(p *Span[*trace.ImagePull]) (cost time.Duration, ev []Evidence) {
	spans := c.runtimeSpans(p.ID())
	first := p.Stop
	for _, s := range spans {
		if at := spanStart(s.Event); strings.HasSuffix(s.Event.Name, "fetchLayer") && at.Before(first) {
			first = at
		}
	}
	var at []stretch
	for _, s := range spans {
		if !strings.HasSuffix(s.Event.Name, requestSpan) && !strings.HasSuffix(s.Event.Name, tokenSpan) || !spanStart(s.Event).Before(first) {
			continue
		}
		at = append(at, c.on(p.ID(), spanStart(s.Event), earlierOf(spanEnd(s.Event), first))...)
		if s.Event.Dur >= leastCost {
			ev = append(ev, evidence(s.Rec, "%s reported: %s of %s took %s", s.Event.Service, attr(s.Event, "http.request.method"), human.Line(attr(s.Event, "url.full")), took(s.Event.Dur, false)))
		}
	}
	return covered(at), ev
}
