package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/nodecause"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Condition is a condition on a report: terms of package query that must all hold.
type Condition struct {
	text string
	all  *query.Filter
}

// waitKinds are the kinds of waits that a condition can name.
var waitKinds = []trace.WaitKind{
	trace.WaitQueue, trace.WaitBackoff, trace.WaitTokens, trace.WaitLock, trace.WaitOtherPull, trace.WaitRuntime,
	trace.WaitProbe, trace.WaitGate, trace.WaitInit, trace.WaitGrace, trace.WaitPod, trace.WaitAttach, trace.WaitLabel, trace.WaitObject, trace.WaitApproval,
	trace.WaitHook, trace.WaitCredentials, trace.WaitDevices, trace.WaitClaims, trace.WaitPoll,
}

// anyCause is the flag that is true if a report names a cause.
const anyCause = "any"

// fields returns the fields of --fail-on and --where. A cause's id is a flag.
func fields() query.Fields {
	f := query.Fields{
		Known: "start, ready, floor, unexplained, wait, wait.KIND (kinds are " + join(waitKinds) + "), ns, pod, source, phase, stage, cause, any, or the id of a cause, " + ids(causeIDs()) + ", and of a node " + ids(nodeIDs()),
		All: []query.Field{
			{Name: "start", Kind: query.Duration, Measured: true},
			{Name: "ready", Kind: query.Duration | query.Flag, Measured: true},
			{Name: "floor", Kind: query.Duration, Measured: true},
			{Name: "unexplained", Kind: query.Duration | query.Percent, Measured: true},
			{Name: "wait", Kind: query.Duration, Measured: true},
			{Name: "ns", Kind: query.Text},
			{Name: "pod", Kind: query.Text},
			{Name: "source", Kind: query.Text},
			{Name: "phase", Kind: query.Text},
			{Name: "stage", Kind: query.Text, Check: query.OneOf("starting", "up", "down", "ending", "over")},
			{Name: "cause", Kind: query.Text},
			{Name: anyCause, Kind: query.Flag},
		},
	}
	for _, kind := range waitKinds {
		f.All = append(f.All, query.Field{Name: waitPrefix + string(kind), Kind: query.Duration, Measured: true})
	}
	for _, id := range slices.Concat(nodeIDs(), causeIDs()) {
		f.All = append(f.All, query.Field{Name: id, Kind: query.Flag})
	}
	return f
}

const waitPrefix = "wait."

// ParseFailOn reads a condition of --fail-on: the id of a cause (KL05), any, or comparisons of start, ready, floor, unexplained, wait or
// wait.KIND by >, >=, < or <= with a duration, of unexplained also with a percentage: start>2s, unexplained>2%, wait.queue>=500ms. It may
// have several parts, which must all hold, and those of package query in general: ns=shop !ready. It has no words: a name that is
// neither a field nor a cause is an error.
func ParseFailOn(s string) (Condition, error) {
	f := fields()
	f.NoWords = true
	return parse(s, f)
}

// ParseWhere parses conditions that select reports: as ParseFailOn, and also words and expressions that are searched in the
// sentence of Brief. A word that looks like the id of an unknown cause is an error.
func ParseWhere(s string) (Condition, error) {
	c, err := parse(s, fields())
	if err != nil {
		return Condition{}, err
	}
	for _, t := range c.all.Terms() {
		if id := strings.TrimLeft(t.Text, "!-"); t.Field == "" && likeID.MatchString(id) {
			return Condition{}, fmt.Errorf("condition %q: there is no cause %s: ids are %s; quotes search for the text", s, id, ids(causeIDs()))
		}
	}
	return c, nil
}

// likeID matches words that look like the id of a cause, in any spelling.
var likeID = regexp.MustCompile(`^(?i)kl-?\d+$`)

func parse(s string, f query.Fields) (Condition, error) {
	c := Condition{text: strings.TrimSpace(s)}
	var err error
	if c.all, err = query.Parse(c.text, f); err != nil {
		return Condition{}, fmt.Errorf("condition %q: %w", s, err)
	}
	if c.all == nil {
		return Condition{}, fmt.Errorf("condition %q: want a comparison such as start>2s, the id of a cause such as KL05, or any", s)
	}
	return c, nil
}

// ids are the first and the last of a list of ids.
func ids(all []string) string { return all[0] + " to " + all[len(all)-1] }

func causeIDs() (out []string) {
	for _, r := range cause.Rules() {
		out = append(out, r.ID)
	}
	return out
}

func nodeIDs() (out []string) {
	for _, r := range nodecause.Rules() {
		out = append(out, r.ID)
	}
	return out
}

func join[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

// String returns the condition as written.
func (c Condition) String() string { return c.text }

// Holds reports whether the condition is true of a pod. A pod that has not got there yet has taken its time so far, which can be
// more than a limit and never less than one. Waits count as far as they lie on the critical path. Where the start was not seen, no
// comparison of its figures holds, and neither does the opposite.
func (c Condition) Holds(r *Report) bool {
	return c.all.Match(query.Row{
		Text:  func() string { return Brief(r) },
		Field: func(name string) query.Value { return field(r, name) },
	})
}

// field returns the value of a field in a report.
func field(r *Report, name string) query.Value {
	switch name {
	case "ns":
		return query.Value{Text: r.Pod.Namespace}
	case "pod":
		return query.Value{Text: r.Pod.String()}
	case "source":
		return query.Value{Text: r.Source}
	case "phase":
		return query.Value{Text: r.Phase}
	case "stage":
		return query.Value{Text: string(r.Stage)}
	case "cause", anyCause:
		return query.Value{Text: causes(r, anyCause), True: len(r.Findings) > 0}
	}
	if strings.HasPrefix(name, "KL") || strings.HasPrefix(name, "KN") {
		return query.Value{True: causes(r, name) != ""}
	}
	d, known, done := value(r, name)
	return query.Value{
		Figure: d.Seconds(), Known: known, Growing: !done, Absent: !known, Percent: r.UnexplainedPercent,
		True: name == "ready" && (r.Stage == cause.Up || r.Ready > 0 && r.Stage != cause.Down),
	}
}

// causes returns the report's causes with an id, or all for any, such as KL05 image back-off.
func causes(r *Report, id string) string {
	var out []string
	for _, f := range r.Findings {
		if id == anyCause || f.ID == id {
			out = append(out, f.ID+" "+f.Name)
		}
	}
	return strings.Join(out, ", ")
}

// Told returns the report's value for the condition: start 5.12s, KL05 image back-off.
func (c Condition) Told(r *Report) string {
	var out []string
	for _, t := range c.all.Terms() {
		if what := told(r, t); what != "" && !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	return strings.Join(out, ", ")
}

func told(r *Report, t query.Term) string {
	switch {
	case t.Field == "": // words
		return ""
	case t.Field == anyCause || strings.HasPrefix(t.Field, "KL"):
		return cmp.Or(causes(r, t.Field), "no such cause")
	case t.Percent:
		return t.Field + " " + human.Percent(r.UnexplainedPercent)
	case t.Op == "": // ready
		if field(r, t.Field).True {
			return t.Field
		}
		return "not " + t.Field
	case slices.Contains([]string{"ns", "pod", "source", "phase", "stage", "cause"}, t.Field):
		return strings.TrimSpace(t.Field + " " + field(r, t.Field).Text)
	}
	v, known, done := value(r, t.Field)
	switch {
	case !known:
		return t.Field + " not known"
	case !done:
		return t.Field + " " + human.Duration(v) + " so far"
	}
	return t.Field + " " + human.Duration(v)
}

// value returns the value to compare; done means that it no longer grows.
func value(r *Report, what string) (v time.Duration, known, done bool) {
	if len(r.Path) == 0 {
		return 0, false, false
	}
	up := r.Ready > 0
	switch what {
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
	kind, _ := strings.CutPrefix(what, waitPrefix)
	for _, w := range r.Waits {
		if what == "wait" || string(w.For) == kind {
			v += w.OnPath
		}
	}
	return v, true, up
}
