package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Condition is what a report is tested by.
type Condition struct {
	text string
	// id is a cause's, or any; the rest is empty then.
	id string
	// what is start, ready, floor, unexplained, wait or wait.KIND, op one of the operators.
	what, op string
	limit    time.Duration
	percent  float64 // of unexplained, where the limit is one
	ratio    bool
}

var conditionForm = regexp.MustCompile(`^([a-z][a-z.-]*)\s*(>=|<=|>|<|==?|!=)\s*(\S+)$`)

// waitKinds are the kinds that a condition may name.
var waitKinds = []trace.WaitKind{
	trace.WaitQueue, trace.WaitPoll, trace.WaitBackoff, trace.WaitTokens, trace.WaitLock, trace.WaitOtherPull, trace.WaitRuntime, trace.WaitKernel,
	trace.WaitProbe, trace.WaitGate, trace.WaitInit, trace.WaitGrace, trace.WaitPod, trace.WaitAttach, trace.WaitObject, trace.WaitApproval,
	trace.WaitHook, trace.WaitCredentials,
}

// ParseFailOn reads a condition: the id of a cause (KL05), any, or a comparison by >, >=, < or <= of start, ready, floor, unexplained,
// wait or wait.KIND with a duration, of unexplained also with a percentage: start>2s, unexplained>2%, wait.queue>=500ms.
func ParseFailOn(s string) (Condition, error) {
	c := Condition{text: strings.TrimSpace(s)}
	if strings.EqualFold(c.text, "any") {
		c.id = "any"
		return c, nil
	}
	if id := strings.ToUpper(c.text); strings.HasPrefix(id, "KL") {
		if !slices.ContainsFunc(cause.Rules(), func(r cause.Rule) bool { return r.ID == id }) {
			return Condition{}, fmt.Errorf("condition %q: no such cause; ids are KL01 to KL29", s)
		}
		c.id = id
		return c, nil
	}
	m := conditionForm.FindStringSubmatch(c.text)
	if m == nil {
		return Condition{}, fmt.Errorf("condition %q: want a comparison as start>2s, the id of a cause as KL05, or any", s)
	}
	c.what, c.op = m[1], m[2]
	if err := c.checkWhat(); err != nil {
		return Condition{}, fmt.Errorf("condition %q: %w", s, err)
	}
	if err := c.parseLimit(m[3]); err != nil {
		return Condition{}, fmt.Errorf("condition %q: %w", s, err)
	}
	return c, nil
}

func (c *Condition) checkWhat() error {
	switch c.op {
	case "=", "==", "!=":
		return fmt.Errorf("operator %s: durations are compared by >, >=, < or <=", c.op)
	}
	kind, isWait := strings.CutPrefix(c.what, "wait.")
	switch {
	case isWait && slices.Contains(waitKinds, trace.WaitKind(kind)):
	case isWait:
		return fmt.Errorf("%s is no kind of wait; kinds are %s", kind, join(waitKinds))
	case !slices.Contains([]string{"start", "ready", "floor", "unexplained", "wait"}, c.what):
		return fmt.Errorf("nothing is called %s; want start, ready, floor, unexplained, wait or wait.KIND", c.what)
	}
	return nil
}

func join[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

func (c *Condition) parseLimit(s string) (err error) {
	if n, isRatio := strings.CutSuffix(s, "%"); isRatio {
		if c.what != "unexplained" {
			return fmt.Errorf("%s is compared with a duration, as 500ms; only unexplained with a percentage", c.what)
		}
		c.ratio = true
		if c.percent, err = strconv.ParseFloat(n, 64); err != nil || !(c.percent >= 0 && c.percent <= 100) {
			return fmt.Errorf("%s is no percentage from 0%% to 100%%", s)
		}
		return nil
	}
	if c.limit, err = time.ParseDuration(s); err != nil || c.limit < 0 {
		return fmt.Errorf("%s is no duration; want one as 2s or 500ms", s)
	}
	return nil
}

// String is the condition as it was written.
func (c Condition) String() string { return c.text }

// Holds reports whether the condition is true of a pod. A pod that has not got there yet has taken its time so far, which can be
// more than a limit and never less than one. Waits count as far as they lie on the critical path. Where the start was not seen, no
// comparison holds.
func (c Condition) Holds(r *Report) bool {
	if c.id != "" {
		return slices.ContainsFunc(r.Findings, func(f cause.Finding) bool { return c.id == "any" || f.ID == c.id })
	}
	if c.ratio {
		return len(r.Path) > 0 && compare(c.op, cmp.Compare(r.UnexplainedPercent, c.percent))
	}
	v, known, done := c.value(r)
	if !known || !done && strings.HasPrefix(c.op, "<") {
		return false
	}
	return compare(c.op, cmp.Compare(v, c.limit))
}

// Told says what the report has for the condition: start 5.12s, KL05 image back-off.
func (c Condition) Told(r *Report) string {
	if c.id != "" {
		var out []string
		for _, f := range r.Findings {
			if c.id == "any" || f.ID == c.id {
				out = append(out, f.ID+" "+f.Name)
			}
		}
		return cmp.Or(strings.Join(out, ", "), "no such cause")
	}
	if c.ratio {
		return "unexplained " + percent(r.UnexplainedPercent)
	}
	v, known, done := c.value(r)
	switch {
	case !known:
		return c.what + " not known"
	case !done:
		return c.what + " " + human.Duration(v) + " so far"
	}
	return c.what + " " + human.Duration(v)
}

// value is what is compared; done says that it will not grow any more.
func (c Condition) value(r *Report) (v time.Duration, known, done bool) {
	if len(r.Path) == 0 {
		return 0, false, false
	}
	up := r.Ready > 0
	switch c.what {
	case "start":
		if r.Start > 0 {
			return r.Start, true, true
		}
		return r.Length, true, false
	case "ready":
		if up {
			return r.Ready, true, true
		}
		if !r.Seen.IsZero() && r.Ending.IsZero() {
			return max(r.Length, r.Now.Sub(r.Seen)), true, false
		}
		return r.Length, true, false
	case "floor":
		return r.Floor, true, r.Start > 0
	case "unexplained":
		return r.Unexplained, true, r.Start > 0
	}
	kind, _ := strings.CutPrefix(c.what, "wait.")
	for _, w := range r.Waits {
		if c.what == "wait" || string(w.For) == kind {
			v += w.OnPath
		}
	}
	return v, true, up
}

func compare(op string, order int) bool {
	switch op {
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	}
	return order <= 0
}
