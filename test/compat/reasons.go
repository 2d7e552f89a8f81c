package main

import "strings"

// reasons say why an answer is not upstream's. The first that fits is the one.
var reasons = []struct {
	fits func(difference) bool
	why  string
}{
	{
		func(d difference) bool {
			return d.upstream.Code == 404 && (d.ours.Code == 401 || d.ours.Code == 403)
		},
		"Who may not ask is told nothing, not even that a path does not exist. Upstream's router answers for paths that it does not have before it asks who comes.",
	},
	{
		func(d difference) bool { return about(d, "/debug/pprof/") && d.upstream.Code == 404 },
		"The index of profiles is served. Upstream means to serve it too, but its route needs one more element of the path.",
	},
	{
		func(d difference) bool {
			return d.ours.Code == d.upstream.Code && d.upstream.Type == "" && d.ours.Type == "text/plain" && about(d, "containerLogs") || d.group == "log options" && d.ours.Code == d.upstream.Code && d.upstream.Type == ""
		},
		"A container's log, and why there is none, is text/plain. Upstream names no type, so that browsers guess one by what the container wrote.",
	},
	{
		func(d difference) bool { return about(d, "/x/${C}") && d.upstream.Code < 300 && d.ours.Code >= 400 },
		"A UID that is not the pod's is refused: another pod of that name is meant. Upstream looks at the name alone.",
	},
	{
		func(d difference) bool { return about(d, "stream=Std") && d.upstream.Code == 400 },
		"One stream of a log can be had. Upstream has the feature gate PodLogsQuerySplitStreams for that, which is off.",
	},
}

func about(d difference, part string) bool { return strings.Contains(d.id, part) }

func reasonFor(d difference) string {
	for _, r := range reasons {
		if r.fits(d) {
			return r.why
		}
	}
	return ""
}
