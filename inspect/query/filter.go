package query

import (
	"regexp"
	"strings"
	"unicode"
)

// Row is what conditions look at. Functions are called only when a condition needs them.
type Row struct {
	// Text is what words and regular expressions are matched against.
	Text func() string
	// Field returns the value of a field that the conditions were parsed with.
	Field func(name string) Value
}

// Value is the value of a field: as text, and if possible as a figure and as a flag.
type Value struct {
	Text   string
	Figure float64 // seconds, bytes, a count; for times the seconds of the day
	Known  bool    // Figure is one
	// Percent is the same as Figure as a share, where the field can be compared with a percentage.
	Percent float64
	// True is the flag.
	True bool
	// Growing says that Figure may still grow: that it is less than something does not hold, and neither does the opposite of
	// "more than something" while it is not.
	Growing bool
	// Absent says that no comparison can be decided: neither it holds nor its opposite.
	Absent bool
}

// Filter is conditions that must all hold. The nil Filter accepts all.
type Filter struct{ terms []term }

// Term is one condition, for callers that say something of it.
type Term struct {
	// Text is the condition as it was written, without spaces around its operator.
	Text string
	// Field is empty for words and expressions; Op is empty for a flag without operator.
	Field, Op string
	Not       bool
	// Percent says that the field is compared with a percentage.
	Percent bool
}

// term is one condition.
type term struct {
	Term
	// One of these is set, or Field.
	text string // small letters only when fold
	fold bool
	re   *regexp.Regexp
	want operand // with Field and Op
}

// Match reports whether all conditions hold for a row.
func (f *Filter) Match(r Row) bool {
	if f == nil {
		return true
	}
	for i := range f.terms {
		t := &f.terms[i]
		if holds, decided := t.holds(&r); !decided || holds == t.Not {
			return false
		}
	}
	return true
}

// MatchString is Match for a line of text that has no fields.
func (f *Filter) MatchString(s string) bool {
	return f.Match(Row{Text: func() string { return s }})
}

// Terms returns the conditions, in order.
func (f *Filter) Terms() []Term {
	if f == nil {
		return nil
	}
	out := make([]Term, len(f.terms))
	for i := range f.terms {
		out[i] = f.terms[i].Term
	}
	return out
}

// String spells the conditions with && between them, which Parse reads again.
func (f *Filter) String() string {
	var out []string
	for _, t := range f.Terms() {
		out = append(out, t.Text)
	}
	return strings.Join(out, " && ")
}

// Word writes a text so that a filter takes it as it is.
func Word(s string) string {
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	if s != "" && unicode.IsUpper([]rune(s)[0]) && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s // flags have small letters
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func (t *term) holds(r *Row) (holds, decided bool) {
	switch {
	case t.Field != "":
		if r.Field == nil {
			return false, true
		}
		return t.compare(r.Field(t.Field))
	case r.Text == nil:
		return false, true
	case t.re != nil:
		return t.re.MatchString(r.Text()), true
	case t.fold:
		return strings.Contains(strings.ToLower(r.Text()), t.text), true
	}
	return strings.Contains(r.Text(), t.text), true
}

// compare reports whether a field is as it is wanted, and whether that can be said.
func (t *term) compare(v Value) (holds, decided bool) {
	switch t.Op {
	case "":
		return v.True, true
	case "~":
		return t.re.MatchString(v.Text), !v.Absent
	case "!~":
		return !t.re.MatchString(v.Text), !v.Absent
	case "=", "==":
		return t.want.is(v), !v.Absent
	case "!=":
		return !t.want.is(v), !v.Absent
	}
	got := v.Figure
	if t.Percent {
		got = v.Percent
	}
	if v.Absent || !v.Known {
		return false, !v.Absent
	}
	holds = ordered(t.Op, got, t.want.figure)
	if v.Growing && !t.Percent {
		return holds, holds == (t.Op[0] == '>')
	}
	return holds, true
}

func ordered(op string, a, b float64) bool {
	switch op {
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "<":
		return a < b
	}
	return a <= b
}
