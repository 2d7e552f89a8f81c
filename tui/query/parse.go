package query

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fields is what rows can be asked for.
type Fields struct {
	// Names are the fields' names, in small letters and without spaces.
	Names []string
	// Took is the one that >500ms means; "" when there is none.
	Took string
	// Err says that rows can tell of errors.
	Err bool
}

// Parse makes a filter of what was typed; nil when that is nothing. The error
// says in words what is wrong and what would be right.
func Parse(text string, fields Fields) (*Filter, error) {
	p := parser{rest: text, fields: fields}
	var f Filter
	for {
		t, ok, err := p.next()
		if err != nil {
			return nil, err
		}
		if ok {
			f.terms = append(f.terms, t)
		}
		if p.rest == "" {
			break
		}
	}
	if len(f.terms) == 0 {
		return nil, nil
	}
	return &f, nil
}

// parser takes conditions off the front of a text.
type parser struct {
	rest   string
	fields Fields
}

// next takes one condition; ok is false for one that is only begun.
func (p *parser) next() (t term, ok bool, err error) {
	p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace)
	if rest, found := strings.CutPrefix(p.rest, "-"); found {
		t.not, p.rest = true, rest
	}
	first, _ := utf8.DecodeRuneInString(p.rest)
	switch {
	case p.rest == "" || unicode.IsSpace(first):
		return t, false, nil
	case p.rest[0] == '"':
		t.text = p.quoted()
		return t, t.text != "", nil
	case p.rest[0] == '/':
		t.re, err = expression(p.slashed())
		return t, t.re != nil, err
	case p.rest[0] == '~':
		t.re, err = expression(p.word()[1:])
		return t, t.re != nil, err
	}
	if name, op := fieldTerm(p.rest); op != "" {
		p.rest = p.rest[len(name)+len(op):]
		return p.compared(t, name, op)
	}
	w := p.word()
	if w == "err" {
		t.err = true
		if !p.fields.Err {
			err = errors.New(`nothing here tells of errors; "err" in quotes looks for the text`)
		}
		return t, true, err
	}
	t.text, t.fold = w, !strings.ContainsFunc(w, unicode.IsUpper)
	return t, true, nil
}

// compared finishes a condition on a field, as far as its value is typed.
func (p *parser) compared(t term, name, op string) (term, bool, error) {
	var err error
	if t.field, err = p.fields.find(name); err != nil {
		return t, false, err
	}
	value := ""
	switch {
	case strings.HasPrefix(p.rest, `"`):
		value = p.quoted()
	case strings.HasPrefix(p.rest, "/") && strings.HasSuffix(op, "~"):
		value = p.slashed()
	default:
		value = p.word()
	}
	if value == "" {
		return t, false, nil
	}
	t.op = op
	t.want, err = read(op, value)
	return t, err == nil, err
}

// find returns the field of that name, or the only one that begins so; "" is how
// long rows took.
func (f *Fields) find(name string) (string, error) {
	if name == "" {
		if f.Took == "" {
			return "", errors.New("nothing here has a duration to compare with")
		}
		return f.Took, nil
	}
	name = strings.ToLower(name)
	if slices.Contains(f.Names, name) {
		return name, nil
	}
	var like []string
	for _, n := range f.Names {
		if strings.HasPrefix(n, name) {
			like = append(like, n)
		}
	}
	switch {
	case len(f.Names) == 0:
		return "", errors.New("there are no fields here: want words or /regular expressions/")
	case len(like) == 1:
		return like[0], nil
	case len(like) > 1:
		return "", fmt.Errorf("%s may be %s", name, strings.Join(like, " or "))
	}
	return "", fmt.Errorf("no field %s, there are %s; quotes look for the text", name, strings.Join(f.Names, " "))
}

var operators = []string{"!=", "!~", ">=", "<=", "=", "~", ">", "<"}

// fieldTerm splits the beginning of a comparison; op is "" when s begins none.
func fieldTerm(s string) (name, op string) {
	i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' })
	if i < 0 {
		return "", ""
	}
	for _, op := range operators {
		if strings.HasPrefix(s[i:], op) && (i > 0 || op[0] == '<' || op[0] == '>') {
			return s[:i], op
		}
	}
	return "", ""
}

// word takes what goes up to the next space.
func (p *parser) word() string {
	i := strings.IndexFunc(p.rest, unicode.IsSpace)
	if i < 0 {
		i = len(p.rest)
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

// quoted takes a text in quotes; one that is not closed goes to the end.
func (p *parser) quoted() string {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return b.String()
		case c == '\\' && i+1 < len(p.rest):
			i++
			b.WriteByte(p.rest[i])
		default:
			b.WriteByte(c)
		}
	}
	p.rest = ""
	return b.String()
}

// slashed takes an expression between slashes; the closing one stands before a
// space or at the end, and may be missing.
func (p *parser) slashed() string {
	for i := 1; i < len(p.rest); i++ {
		if p.rest[i] == '/' && (i+1 == len(p.rest) || p.rest[i+1] == ' ') {
			s := p.rest[1:i]
			p.rest = p.rest[i+1:]
			return s
		}
	}
	s := p.rest[1:]
	p.rest = ""
	return s
}

// expression compiles a regular expression. Without a capital letter it ignores
// case. It is nil for "".
func expression(s string) (*regexp.Regexp, error) {
	if s == "" {
		return nil, nil
	}
	expr := s
	if !strings.ContainsFunc(s, unicode.IsUpper) {
		expr = "(?i)" + s
	}
	re, err := regexp.Compile(expr)
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, errors.New("not a regular expression: " + bad.Code.String() + ": " + strings.TrimPrefix(bad.Expr, "(?i)"))
	}
	return re, err
}
