// Package why tells what became of one life of a pod and why: the phases of its start, all waits by kind, the critical path, what
// no record explains, the causes that were found, and, while the pod is not up, what it waits for now and what happens next.
//
// It owns the report, its plain text and the conditions that a report is tested by (--fail-on). It adds nothing of its own: figures
// are the waterfall's and the rules', and what is not known is said to be. It reads no clock and
// publishes nothing; All runs goroutines while it yields.
package why
