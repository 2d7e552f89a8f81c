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
		"An unauthorized client receives no information, not even that a path does not exist. Upstream's router rejects unknown paths before the client is authenticated.",
	},
	{
		func(d difference) bool { return about(d, "/debug/pprof/") && d.upstream.Code == 404 },
		"kubeloupe serves the index of profiles. Upstream intends to serve it too, but its route requires one more path element.",
	},
	{
		func(d difference) bool {
			return d.ours.Code == d.upstream.Code && d.upstream.Type == "" && d.ours.Type == "text/plain" && about(d, "containerLogs") || d.group == "log options" && d.ours.Code == d.upstream.Code && d.upstream.Type == ""
		},
		"A container's log, or the error if there is none, has the media type text/plain. Upstream sends no media type, so browsers guess it from what the container wrote.",
	},
	{
		func(d difference) bool { return about(d, "/x/${C}") && d.upstream.Code < 300 && d.ours.Code >= 400 },
		"kubeloupe rejects a UID that is not the pod's, because the client means another pod with this name. Upstream checks the name only.",
	},
	{
		func(d difference) bool {
			return about(d, "accept of OpenMetrics") && d.upstream.Code == d.ours.Code && d.ours.Type == "application/openmetrics-text"
		},
		"kubeloupe also has OpenMetrics, for the exemplars of pod starts. Upstream has the text format only.",
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
