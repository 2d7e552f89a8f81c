package cause

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// longestRetry is how long upstream's kubelet and its controllers wait at most until they try a volume again, and write the next Event.
const longestRetry = 2*time.Minute + 10*time.Second

// eventHoldups are what Events tell of storage that could not be attached or mounted, and these Events: those of a class, or for "" those that
// are not about an object. Where nothing else is known of the pod's
// volumes, the pod waited for one from the first Event to the last, and until now if the next one is not due yet and nothing came after it.
func (c *Case) eventHoldups(class trace.FailureClass) (out []holdup, told []Evidence) {
	volumes := ownSpans[*trace.Volume](c)
	plugins := map[string]string{}
	for i := range volumes {
		plugins[volumes[i].Event.Name] = volumes[i].Event.Plugin
	}
	alone := len(volumes) == 0 && !slices.ContainsFunc(ownSpans[*trace.Action](c), func(a Span[*trace.Action]) bool { return a.Event.Verb == trace.VerbVolumes })
	first, last := map[string]time.Time{}, map[string]*Point[*trace.NodeEvent]{}
	var names []string
	for _, p := range ownPoints[*trace.NodeEvent](c) {
		name := p.Event.Volume
		if name == "" || class != "" && p.Event.Class != class || class == "" && p.Event.Class.Of(trace.FailObject) || objectPlugin(plugins[name]) {
			continue
		}
		if last[name] == nil {
			names, first[name] = append(names, name), p.Rec.At()
		}
		last[name] = &p
		told = append(told, evidence(p.Rec, "Event %s: %s", p.Event.Reason, quoted(p.Event.Message)))
	}
	if !alone {
		return nil, told
	}
	for _, name := range names {
		p := last[name]
		to, open := p.Rec.At(), false
		if !c.up() && c.Now.Sub(to) <= longestRetry && !c.wentOn(to) {
			to, open = c.Now, true
		}
		out = append(out, holdup{at: clip(c.stretchesOf(c.path()), first[name], to), what: "volume " + name + ": " + quoted(p.Event.Message), open: open, class: p.Event.Class, plugin: plugins[name]})
	}
	return out, told
}

// wentOn reports whether the pod did something after a time: the kubelet begins with its sandbox when the volumes are there.
func (c *Case) wentOn(after time.Time) bool {
	for i := range c.Records {
		r := &c.Records[i]
		if !r.At().After(after) {
			continue
		}
		switch e := r.Event.(type) {
		case *trace.Action, *trace.CRICall, *trace.ImagePull:
			return true
		case *trace.NodeEvent:
			if e.Type == trace.EventNormal {
				return true
			}
		}
	}
	return false
}
