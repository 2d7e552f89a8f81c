package query

import (
	"regexp"
	"strings"
	"unicode"
)

// Row is what conditions are tested on. Functions are called only if a condition needs them.
type Row struct {
	// Text is what words and regular expressions are matched against.
	Text func() string
	// Field returns the value of a field from the Fields given to Parse.
	Field func(name string) Value
}

// Value is the value of a field: as text, and if possible as a number and as a flag.
type Value struct {
	Text   string
	Figure float64 // seconds, bytes, a count; for times the seconds since midnight
	Known  bool    // Figure is valid
	// Percent is Figure as a share, if the field can be compared with a percentage.
	Percent float64
	// True is the value of a flag.
	True bool
	// Growing means that Figure may still grow: "less than" does not hold yet, and neither does the opposite of "more
	// than".
	Growing bool
	// Absent means that no comparison can be decided: neither it nor its opposite holds.
	Absent bool
}

// Filter is a set of conditions that must all hold. The nil Filter accepts all.
type Filter struct{ terms []term }

// Term is one condition, for callers that describe it.
type Term struct {
	// Text is the condition as written, without spaces around its operator.
	Text string
	// Field is empty for words and expressions; Op is empty for a flag without operator.
	Field, Op string
	Not       bool
	// Percent reports whether the field is compared with a percentage.
	Percent bool
}

// term is one condition.
type term struct {
	Term
	// Exactly one of these is set, or Field.
	text string // lowercase only if fold is set
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

// MatchString is Match for a line of text without fields.
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

// String returns the conditions joined with &&; Parse accepts the result.
func (f *Filter) String() string {
	var out []string
	for _, t := range f.Terms() {
		out = append(out, t.Text)
	}
	return strings.Join(out, " && ")
}

// Word quotes a text, if necessary, so that a filter takes it literally.
func Word(s string) string {
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	if s != "" && unicode.IsUpper([]rune(s)[0]) && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s // flags are lowercase
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

// compare reports whether the comparison holds, and whether that can be decided.
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
