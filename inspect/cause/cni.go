package cause

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// isCNI reports whether a span of the runtime is about all of a pod's network, and not a part of that.
func isCNI(e *trace.RuntimeSpan) bool { return strings.HasSuffix(e.Name, "setup_pod_network") }

// pluginRun is a run of a CNI plugin that made a network: its name, and how long it ran itself, without those that it ran.
type pluginRun struct {
	Point[*trace.RuntimeSpan]
	name, ifname string
	own          time.Duration
	outer        bool // the runtime ran it, not another plugin
}

// pluginRuns are the runs of CNI plugins that made the pod's network, in the order of their ends; those below a span, or all (0).
func (c *Case) pluginRuns(under trace.SpanID) (out []pluginRun) {
	at := map[trace.SpanID]int{}
	points := ownPoints[*trace.RuntimeSpan](c)
	if under != 0 {
		points = c.runtimeSpans(under)
	}
	for _, p := range points {
		name, ok := strings.CutPrefix(p.Event.Name, trace.SpanCNIPlugin)
		if !ok || attr(p.Event, "cni.command") != "ADD" {
			continue
		}
		at[p.Rec.Span] = len(out)
		out = append(out, pluginRun{Point: p, name: name, ifname: attr(p.Event, "cni.ifname"), own: p.Event.Dur, outer: true})
	}
	for i := range out {
		if up, ok := at[out[i].Rec.Parent]; ok {
			out[i].outer = false
			out[up].own = max(out[up].own-out[i].Event.Dur, 0)
		}
	}
	sorting.Stable(out, func(a, b *pluginRun) int { return spanEnd(a.Event).Compare(spanEnd(b.Event)) })
	return out
}

// slowestPlugin is the plugin whose own runs took most, over all networks that were made, and the longest of them.
func slowestPlugin(runs []pluginRun) (longest pluginRun, sum time.Duration) {
	sums := map[string]time.Duration{}
	for _, r := range runs {
		sums[r.name] += r.own
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if sums[name] <= sum {
			continue
		}
		sum, longest = sums[name], pluginRun{}
		for _, r := range runs {
			if r.name == name && r.own > longest.own {
				longest = r
			}
		}
	}
	return longest, sum
}

// evidence says what a run shows.
func (r pluginRun) evidence() Evidence {
	text := fmt.Sprintf("%s saw the CNI plugin %s run (ADD of %s) for %s", r.Event.Service, r.name, cmp.Or(r.ifname, "an interface"), took(r.Event.Dur, false))
	if r.own < r.Event.Dur {
		text += ", " + took(r.own, false) + " of it itself"
	}
	return evidence(r.Rec, "%s", text)
}

// attr is an attribute of a span; "" when it has none of that name.
func attr(e *trace.RuntimeSpan, key string) string {
	for _, a := range e.Attrs {
		if a.K == key {
			return a.V
		}
	}
	return ""
}
