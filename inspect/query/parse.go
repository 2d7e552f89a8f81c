package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on the text of a filter.
const (
	maxText  = 1024 // bytes
	maxTerms = 64
)

// Error is an error in the text of a filter, and says what is valid.
type Error struct {
	Column int // in characters, from 1
	Text   string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Text) }

// Parse parses conditions; the Filter is nil if there are none. An error is an *Error.
func Parse(text string, fields Fields) (*Filter, error) { return parse(text, fields, false) }

// ParseLive is Parse for a text that is still being typed: an incomplete condition is ignored, an unclosed quote extends to the
// end, and the beginning of a field's name is sufficient if it is unique.
func ParseLive(text string, fields Fields) (*Filter, error) { return parse(text, fields, true) }

func parse(text string, fields Fields, live bool) (*Filter, error) {
	p := parser{src: text, fields: &fields, live: live}
	if len(text) > maxText {
		return nil, &Error{Column: 1, Text: fmt.Sprintf("%d bytes of conditions: want %d at most", len(text), maxText)}
	}
	var f Filter
	for p.between(len(f.terms) == 0); p.err == nil && p.rest() != ""; p.between(false) {
		if t, ok := p.term(); ok {
			f.terms = append(f.terms, t)
		}
		if len(f.terms) > maxTerms {
			p.fail(p.pos, "more than %d conditions", maxTerms)
		}
	}
	switch {
	case p.err != nil:
		return nil, p.err
	case len(f.terms) == 0:
		return nil, nil
	}
	return &f, nil
}

// parser parses conditions from the start of a text. Its results must not be used after the first error.
type parser struct {
	src    string
	pos    int
	fields *Fields
	live   bool
	err    error
}

func (p *parser) rest() string { return p.src[p.pos:] }

func (p *parser) fail(pos int, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{Column: utf8.RuneCountInString(p.src[:pos]) + 1, Text: fmt.Sprintf(format, args...)}
	}
}

// unfinished returns the error about an incomplete condition.
func (p *parser) unfinished(want string) {
	if !p.live {
		p.fail(p.pos, "%s", want)
	}
}

func (p *parser) space() {
	p.pos = len(p.src) - len(strings.TrimLeftFunc(p.rest(), unicode.IsSpace))
}

// between skips the text between conditions.
func (p *parser) between(first bool) {
	p.space()
	if !strings.HasPrefix(p.rest(), "&&") {
		return
	}
	if first {
		p.unfinished("want a condition before &&")
	}
	p.pos += len("&&")
	if p.space(); p.rest() == "" || strings.HasPrefix(p.rest(), "&&") {
		p.unfinished("want a condition after &&")
	}
}

// term parses one condition; ok is false if it is incomplete or invalid.
func (p *parser) term() (t term, ok bool) {
	start := p.pos
	if c := p.src[p.pos]; c == '!' || c == '-' {
		t.Not = true
		p.pos++
	}
	first, _ := utf8.DecodeRuneInString(p.rest())
	switch {
	case p.rest() == "" || unicode.IsSpace(first):
		p.unfinished("want a condition after " + p.src[start:p.pos])
		return t, false
	case first == '"':
		p.wordsHere()
		t.text = p.quoted()
		ok = t.text != ""
	case first == '/':
		p.wordsHere()
		at := p.pos
		ok = p.matches(&t, at, p.slashed())
	case first == '~':
		p.wordsHere()
		p.pos++
		at := p.pos
		ok = p.matches(&t, at, p.value("~"))
	default:
		ok = p.named(&t)
	}
	if !ok && p.err == nil {
		p.unfinished("nothing to look for")
	}
	if t.Text == "" {
		t.Text = p.src[start:p.pos]
	} else if t.Not {
		t.Text = p.src[start:start+1] + t.Text
	}
	return t, ok && p.err == nil
}

func (p *parser) wordsHere() {
	if p.fields.NoWords {
		p.fail(p.pos, "there is no text to search here: want a condition on a field (%s)", p.fields.list())
	}
}

// matches sets an expression; ok is false if it is empty or invalid.
func (p *parser) matches(t *term, at int, expr string) bool {
	if expr == "" || p.err != nil {
		return false
	}
	var err error
	if t.re, err = expression(expr); err != nil {
		p.fail(at, "%s", err)
	}
	return err == nil
}

// named parses a comparison, a flag or a word.
func (p *parser) named(t *term) bool {
	at := p.pos
	if name, op, n := p.comparison(); op != "" {
		p.pos += n
		return p.compared(t, at, name, op)
	}
	w := p.word()
	f := p.fields.get(w)
	switch {
	case f != nil && f.Refuse != "":
		p.fail(at, "%s %s", f.Name, f.Refuse)
	case f != nil && f.Kind&Flag != 0 && (p.fields.NoWords || w == f.Name):
		t.Field = f.Name
		return true
	case f != nil && p.fields.NoWords:
		p.fail(p.pos, "want an operator after %s, one of %s", w, strings.Join(f.operators(), " "))
	case p.fields.NoWords:
		p.fail(at, "%s", p.fields.unknown(w))
	case w == "err":
		p.fail(at, `no row here has errors; use quotes to search for the text: "err"`)
	case w == "||":
		p.fail(at, `there is no "or", all conditions must be true; web|api matches either word`)
	case looksLikeOne(w):
		return p.matches(t, at, w)
	}
	t.text, t.fold = w, !strings.ContainsFunc(w, unicode.IsUpper)
	return w != ""
}

// compared parses the rest of a condition on a field.
func (p *parser) compared(t *term, at int, name, op string) bool {
	f, err := p.fields.find(name, p.live)
	if err == nil && p.live && !slices.Contains(f.operators(), op) {
		f = p.fields.longer(f, op)
	}
	switch {
	case err != nil:
		p.fail(at, "%s", err)
		return false
	case f.Refuse != "":
		p.fail(at, "%s %s", f.Name, f.Refuse)
		return false
	case !slices.Contains(f.operators(), op):
		p.fail(p.pos-len(op), "%s cannot be compared with %s: want one of %s", f.Name, op, strings.Join(f.operators(), " "))
		return false
	}
	p.space()
	from := p.pos
	if operatorAt(op+p.rest()) != op {
		p.fail(from, "want a value after %s%s; quotes for one that begins with %c", name, op, p.rest()[0])
		return false
	}
	value := p.value(op)
	if value == "" && (p.live || p.pos == from) {
		p.unfinished("want a value after " + name + op)
		return false
	}
	t.Field, t.Op, t.Text = f.Name, op, name+op+p.src[from:p.pos]
	if op == "~" || op == "!~" {
		return p.matches(t, from, value)
	}
	if t.want, t.Percent, err = f.operand(op, value); err != nil {
		p.fail(from, "%s", err)
	}
	return err == nil
}
