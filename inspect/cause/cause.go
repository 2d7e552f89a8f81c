// Package cause finds the causes of slow or failed pod starts and terminations.
//
// It owns the rules: each has a stable id (KL01, ...), reads the records of one life of a pod, and returns the evidence, the cost
// on the critical path, the confidence, the remedy and what would rule the cause out. A rule never guesses: without evidence in the
// records it reports nothing. It reads no clock, runs no goroutine and publishes nothing.
package cause

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Case is what rules look at: one life of a pod.
type Case struct {
	Pod trace.Pod
	// Records are the pod's own, in order.
	Records []trace.Record
	// Node are the kept records of the same time about the node or other pods, in order.
	Node []*trace.Record
	// Waterfall is the start; nil if it was not seen, for example of a pod that was found running.
	Waterfall *waterfall.Waterfall
	// Now is when the last record was made, or the time of the question.
	Now time.Time
	// Incomplete says that records are known to be missing.
	Incomplete bool

	memo memo
}

// ups are the parents of spans.
type ups = map[trace.SpanID]trace.SpanID

// memo is what rules ask for again and again, made when first asked for: rules go through it once for each of many spans.
type memo struct {
	own, node ups
	byKind    map[kindOf][]*trace.Record
	lists     map[listOf]any
	path      []waterfall.Segment
	pathKnown bool
	// at are the segments of the path that are a span, below those that are part of one, by their indices.
	at, below map[trace.SpanID][]int
	tells     map[trace.SpanID]bool
	// stopped are the times in which the agent did not run.
	stopped      []stretch
	stoppedKnown bool
	// explained is by the rules that were asked before those of pressure.
	explained explained
}

// Confidence says how sure a rule is.
type Confidence string

// The confidences.
const (
	Certain Confidence = "certain" // the records say so themselves
	Likely  Confidence = "likely"  // the records fit this and nothing else that is known
)

// Evidence is a record that a finding rests on.
type Evidence struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	// Text describes what the record shows.
	Text string `json:"text"`
}

// Finding is a cause that was found.
type Finding struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Confidence Confidence `json:"confidence"`
	// Sentence is what happened, in one sentence with figures.
	Sentence string     `json:"sentence"`
	Evidence []Evidence `json:"evidence"`
	// Cost is how much of the critical path it took; of a pod that has not started, or ends, of the time so far.
	Cost time.Duration `json:"cost_ns"`
	// End is how long the pod's end took, or has taken, where the cost is part of that and not of the critical path to its start; else 0.
	End time.Duration `json:"end_ns,omitempty"`
	// Current says that it continues.
	Current bool `json:"current,omitempty"`
	// Final says that the pod does not run again because of it. Its cost is then no time.
	Final bool `json:"final,omitempty"`
	// Remedy is what to do about it; RuledOutBy is what would show that the finding is wrong.
	Remedy     string `json:"remedy"`
	RuledOutBy string `json:"disproof"`
}

// CostText says what it cost: "4.00s, 79% of the critical path". length is that of the path, 0 if it is not known.
func (f *Finding) CostText(length time.Duration) string {
	of := " of the critical path"
	if f.End > 0 {
		of, length = " of its end", f.End
	}
	switch {
	case f.Final:
		return noise.Of("the pod does not run again")
	case f.Current:
		return noise.Of(took(f.Cost, true) + ", ongoing")
	case f.Cost == 0:
		return noise.Of("no cost on the critical path")
	case length == 0:
		return noise.Of(human.Duration(f.Cost) + of)
	case f.Cost > length:
		return noise.Of(human.Duration(f.Cost))
	}
	return noise.Of(human.Duration(f.Cost) + ", " + human.Percent(100*float64(f.Cost)/float64(length)) + of)
}

// Rule is a cause that can be found.
type Rule struct {
	// ID is stable, for example KL05. Name is a few words.
	ID, Name string
	// About describes the cause in one or two sentences.
	About string
	// Find returns its findings, usually none. The package's Find sets ID and Name.
	Find func(*Case) []Finding
}

// Find runs all rules and returns their findings: what holds the pod up now first, then the most expensive, and pressure of the node last
// where the pod fails for another reason.
func Find(c *Case) []Finding {
	if c.onlyMentioned() {
		return nil
	}
	var out []Finding
	for _, pressure := range []bool{false, true} { // what the others explain is not pressure's
		for _, r := range Rules() {
			if pressing(r.ID) != pressure {
				continue
			}
			for _, f := range r.Find(c) {
				f.ID, f.Name = r.ID, r.Name
				f.Sentence, f.Remedy, f.RuledOutBy = noise.Of(f.Sentence), noise.Of(f.Remedy), noise.Of(f.RuledOutBy)
				out = append(out, f)
			}
		}
		c.memo.explained = explainedBy(out)
	}
	return ordered(c, out)
}

// onlyMentioned reports whether lines of a log are all there is of the pod: what state it is in is not known, nor whether what happens on
// its node concerns it. A verdict on its directory may be known: that is the node's.
func (c *Case) onlyMentioned() bool {
	for i := range c.Records {
		if _, line := c.Records[i].Event.(*trace.Log); !line {
			return false
		}
	}
	return len(c.Records) > 0
}

// Rules returns all rules, in the order of their ids.
func Rules() []Rule {
	all := slices.Concat(imageRules(), networkRules(), podRules(), volumeRules(), nodeRules(), workloadRules())
	sorting.Stable(all, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
