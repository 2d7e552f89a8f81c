// Package why explains one life of a pod: the phases of its start, all waits by kind, the critical path, the unexplained time, the
// causes, and, while the pod is not up, what it waits for now and what happens next.
//
// It owns the report, its plain text and the conditions that a report is tested by (--fail-on). It adds no figures: these come from
// the waterfall and the rules, and unknown values are marked as unknown. It reads no clock and publishes nothing; All runs
// goroutines while it yields.
package why
