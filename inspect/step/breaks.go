package step

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// breakpoint is one breakpoint.
type breakpoint struct {
	n      int    // its number for the person
	text   string // as the person wrote it
	after  bool
	failed bool          // only what failed
	what   string        // a glob
	cond   *query.Filter // nil for none
	least  int           // stop from the hit of that number on; 0 means 1
	hits   int
	once   bool // set by until
}

// breakpoints are the breakpoints of a session.
type breakpoints struct {
	all  []*breakpoint
	next int
}

// hit counts the breakpoints at a question's position, and returns one that stops there.
func (b *breakpoints) hit(q *gate.Question, verb trace.Verb) (text string, stops bool) {
	var spent []*breakpoint
	for _, p := range b.all {
		if !p.at(q, verb) {
			continue
		}
		if p.hits++; p.hits < p.least {
			continue
		}
		if !stops {
			text, stops = p.text, true
		}
		if p.once {
			spent = append(spent, p)
		}
	}
	b.all = slices.DeleteFunc(b.all, func(p *breakpoint) bool { return slices.Contains(spent, p) })
	return text, stops
}

// at reports whether a breakpoint is at the question's position. A breakpoint that names a call is before the call, or,
// if the whole action is about this call, before the action.
func (p *breakpoint) at(q *gate.Question, verb trace.Verb) bool {
	if p.after != (q.When == gate.After) {
		return false
	}
	calls := methods(q.Title)
	names := append([]string{q.Action, string(verb)}, calls...)
	switch q.When {
	case gate.Call:
		if len(calls) == 0 || mainCall(verb) == q.Call {
			return false
		}
		names = []string{q.Call}
	case gate.Before:
		names = names[:min(len(names), 3)]
	case gate.After:
	}
	if !slices.ContainsFunc(names, func(name string) bool { return match(p.what, name) }) {
		return false
	}
	return (!p.failed || q.Err != nil) && p.cond.Match(row(q))
}

// mainCall returns the call that a whole action is about.
func mainCall(verb trace.Verb) string {
	return map[trace.Verb]string{
		trace.VerbImage: "ImageStatus", trace.VerbSandbox: "RunPodSandbox", trace.VerbCreate: "CreateContainer", trace.VerbStart: "StartContainer",
		trace.VerbKill: "StopContainer", trace.VerbResize: "UpdateContainerResources", trace.VerbStopSandbox: "StopPodSandbox",
		trace.VerbRemove: "RemoveContainer", trace.VerbRemoveSandbox: "RemovePodSandbox",
	}[verb]
}

// match matches a glob whose * also matches slashes: IDs of images have them.
func match(glob, name string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(glob), flat.Replace(name))
	return err == nil && ok
}

// methods returns the CRI methods in a title: ImageStatus and PullImage of "runtime.v1.ImageStatusRequest, then
// PullImage if needed".
func methods(title string) []string {
	var out []string
	for word := range strings.FieldsSeq(title) {
		word = strings.TrimPrefix(strings.TrimSuffix(word, ","), "runtime.v1.")
		if word != "" && unicode.IsUpper(rune(word[0])) {
			out = append(out, strings.TrimSuffix(word, "Request"))
		}
	}
	return out
}

// set adds a breakpoint, or returns an equal one.
func (b *breakpoints) set(p *breakpoint) *breakpoint {
	for _, old := range b.all {
		if old.text == p.text && !old.once && !p.once {
			return old
		}
	}
	b.next++
	p.n = b.next
	b.all = append(b.all, p)
	return p
}

// clear removes the breakpoint with that number or text.
func (b *breakpoints) clear(name string) (string, error) {
	n, _ := strconv.Atoi(name)
	want, err := parseBreak(name)
	if err != nil {
		want = &breakpoint{text: name}
	}
	for i, p := range b.all {
		if p.n == n || p.text == want.text {
			b.all = slices.Delete(b.all, i, i+1)
			return p.text, nil
		}
	}
	missing := &lookup.NotFoundError{What: "breakpoint", Name: name}
	for _, p := range b.all {
		missing.Known = append(missing.Known, strconv.Itoa(p.n)+" ("+p.text+")")
	}
	return "", missing
}

// list lists the breakpoints.
func (b *breakpoints) list() string {
	if len(b.all) == 0 {
		return "no breakpoints; b WHAT sets one, such as b create"
	}
	out := []string{"breakpoints:"}
	for _, p := range b.all {
		line := fmt.Sprintf("  %d  %s", p.n, p.text)
		if p.hits > 0 {
			line += fmt.Sprintf("   hit %d", p.hits)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
