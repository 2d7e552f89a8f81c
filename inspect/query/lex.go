package query

import (
	"strings"
	"unicode"
)

// written are the operators as they can be written, longest first; =~ is ~.
var written = []string{"!=", "!~", ">=", "<=", "==", "=~", "=", "~", ">", "<"}

func operatorAt(s string) string {
	for _, op := range written {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// comparison parses a field's name and an operator, n bytes in total; op is "" if there is none. Where words are
// possible, an operator after a space needs a space after it too: took > 3s, but err >3s.
func (p *parser) comparison() (name, op string, n int) {
	s := p.rest()
	i := strings.IndexFunc(s, func(r rune) bool { return !nameRune(r) })
	if i < 0 {
		return "", "", 0
	}
	name = s[:i]
	rest := strings.TrimLeftFunc(s[i:], unicode.IsSpace)
	op = operatorAt(rest)
	gap := len(s) - i - len(rest)
	after := rest[len(op):]
	switch {
	case op == "" || name == "" && op[0] != '<' && op[0] != '>':
		return "", "", 0
	case gap > 0 && name == "":
		return "", "", 0
	case gap > 0 && !p.fields.NoWords && (after == "" || after[0] != ' ' || p.fields.get(name) == nil):
		return "", "", 0
	}
	n = i + gap + len(op)
	if op == "=~" {
		op = "~"
	}
	return name, op, n
}

func nameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '.'
}

// value parses the text after an operator.
func (p *parser) value(op string) string {
	switch {
	case strings.HasPrefix(p.rest(), `"`):
		return p.quoted()
	case strings.HasPrefix(p.rest(), "/") && strings.HasSuffix(op, "~"):
		return p.slashed()
	}
	return p.word()
}

// word parses the text up to the next space or &&.
func (p *parser) word() string {
	w := p.rest()
	if i := strings.IndexFunc(w, unicode.IsSpace); i >= 0 {
		w = w[:i]
	}
	w, _, _ = strings.Cut(w, "&&")
	p.pos += len(w)
	return w
}

// quoted takes a text in quotes, in which \" is a quote and \\ a backslash.
func (p *parser) quoted() string {
	var b strings.Builder
	s := p.rest()
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			p.pos += i + 1
			return b.String()
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	p.unfinished("the quotes are not closed")
	p.pos = len(p.src)
	return b.String()
}

// slashed parses an expression between slashes; the closing slash is followed by a space or the end.
func (p *parser) slashed() string {
	s := p.rest()
	for i := 1; i < len(s); i++ {
		if s[i] == '/' && (i+1 == len(s) || s[i+1] == ' ') {
			p.pos += i + 1
			return s[1:i]
		}
	}
	p.unfinished("the expression is not closed by a slash; quotes look for the text")
	p.pos = len(p.src)
	return s[1:]
}
