package query

import (
	"regexp"
	"strings"
	"unicode"
)

// Row is what a filter looks at. Functions are called only when a filter needs them.
type Row struct {
	// Text is what words and regular expressions are matched against.
	Text func() string
	// Field returns the value of a field that the filter was parsed with.
	Field func(name string) Value
	// Err says that the row tells of an error.
	Err bool
}

// Value is the value of a field: always as text, and as a figure where it is one.
type Value struct {
	Text   string
	Figure float64 // seconds, bytes, a count; for times the seconds of the day
	Known  bool    // Figure is one
}

// Filter is what must hold for a row to be shown. The nil Filter accepts all.
type Filter struct{ terms []term }

// term is one condition.
type term struct {
	not bool
	// One of these is set.
	text  string // small letters only when fold
	fold  bool
	re    *regexp.Regexp
	err   bool
	field string // with op
	op    string
	want  operand
}

// Match reports whether all conditions hold for a row.
func (f *Filter) Match(r Row) bool {
	if f == nil {
		return true
	}
	for i := range f.terms {
		if f.terms[i].holds(&r) == f.terms[i].not {
			return false
		}
	}
	return true
}

// MatchString is Match for a line of text that has no fields.
func (f *Filter) MatchString(s string) bool {
	return f.Match(Row{Text: func() string { return s }})
}

// Word writes a text so that a filter takes it as it is.
func Word(s string) string {
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_' }
	if s != "" && s != "err" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func (t *term) holds(r *Row) bool {
	switch {
	case t.err:
		return r.Err
	case t.field != "":
		return r.Field != nil && t.compare(r.Field(t.field))
	case r.Text == nil:
		return false
	case t.re != nil:
		return t.re.MatchString(r.Text())
	case t.fold:
		return strings.Contains(strings.ToLower(r.Text()), t.text)
	}
	return strings.Contains(r.Text(), t.text)
}
