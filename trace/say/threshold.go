package say

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// Amount returns a figure of a signal with its unit: "100 MiB", "5,000 inodes".
func Amount(s trace.Signal, n int64) string {
	if u := s.Unit(); u != trace.UnitBytes {
		return human.Count(n) + " " + string(u)
	}
	return human.Bytes(n)
}

// Thresholds returns the thresholds of a resource: "image GC at 85% → 80%, pressure below 100 MiB free".
func Thresholds(s trace.Signal, all []trace.Threshold) string {
	var out []string
	for i := range all {
		does, mark := threshold(s, &all[i])
		switch t := &all[i]; {
		case t.Kind == trace.ThresholdPressure:
			out = append(out, does+" below "+mark+" free"+after(t))
		case t.Percent >= 100:
			out = append(out, "no "+does+" by usage")
		default:
			out = append(out, fmt.Sprintf("%s at %s → %g%%", does, mark, t.DownTo))
		}
	}
	return noise.Of(strings.Join(out, ", "))
}

// Threshold returns what happens at a threshold, and its value: "pressure", "100 MiB free".
func Threshold(s trace.Signal, t *trace.Threshold) (does, at string) {
	does, at = threshold(s, t)
	if t.Kind == trace.ThresholdPressure {
		return noise.Of(does), noise.Of(at + " free" + after(t))
	}
	return noise.Of(does), noise.Of(at + " used")
}

// after is the grace period of a soft threshold.
func after(t *trace.Threshold) string {
	if t.After <= 0 {
		return ""
	}
	return " for " + human.Duration(t.After)
}

func threshold(s trace.Signal, t *trace.Threshold) (does, mark string) {
	does, mark = string(t.Kind), Amount(s, t.Bytes)
	if t.Kind == trace.ThresholdImageGC {
		does = "image GC"
	}
	if t.Percent > 0 {
		mark = fmt.Sprintf("%g%%", t.Percent)
	}
	return does, mark
}

// Eviction describes a round of the eviction manager.
func Eviction(e *trace.Eviction) string {
	_, mark := threshold(e.Signal, &e.Threshold)
	is := "below"
	if e.Outcome == trace.EvictionNear {
		is = "near"
	}
	out := fmt.Sprintf("eviction: %s: %s free, %s %s", e.Signal, Amount(e.Signal, e.Available), is, mark+after(&e.Threshold))
	if e.Containers > 0 {
		out += fmt.Sprintf("; containers removed: %d", e.Containers)
	}
	if e.Images > 0 {
		out += fmt.Sprintf("; images removed: %d, %s", e.Images, human.Bytes(e.Freed))
	}
	switch e.Outcome {
	case trace.EvictionReclaimed:
		out += ": enough"
	case trace.EvictionEvicted:
		out += fmt.Sprintf("; %s is evicted, the first of %d, with %d s of grace", e.Evicted, len(e.Ranked)+e.Clipped, e.Grace)
	case trace.EvictionNear:
		if i := slices.IndexFunc(e.Ranked, func(p trace.RankedPod) bool { return !p.Spared }); i >= 0 {
			out += "; " + e.Ranked[i].Pod + " would be evicted first"
		}
	case trace.EvictionNone:
		out += "; no pod can be evicted"
	}
	return noise.Of(join(out, e.Err))
}

// Ranked describes a pod in the ranking of an eviction: "120 MiB, 64 MiB requested, Burstable, priority 100".
func Ranked(s trace.Signal, p *trace.RankedPod) string {
	out := "usage unknown"
	if !p.Unknown {
		out = Amount(s, p.Usage)
	}
	if p.Request > 0 {
		out += ", " + Amount(s, p.Request) + " requested"
	}
	if p.QoS != "" {
		out += ", " + string(p.QoS)
	}
	if p.Priority != 0 {
		out += fmt.Sprintf(", priority %d", p.Priority)
	}
	if p.Spared {
		out += ", critical: never evicted"
	}
	return noise.Of(out)
}
