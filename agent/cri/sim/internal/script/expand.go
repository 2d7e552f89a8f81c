package script

import (
	"strconv"
	"strings"
)

// expand turns a raw word into fields: quotes are removed, variables and substitutions replaced. Only the result of
// an unquoted expansion is split at white space. File name patterns stay as they are.
func (sh *shell) expand(word string) []string {
	var (
		fields []string
		cur    strings.Builder
		some   bool // cur is a field even if empty
	)
	split := func(s string) {
		parts := strings.Fields(s)
		for i, part := range parts {
			if i > 0 {
				fields = append(fields, cur.String())
				cur.Reset()
			}
			cur.WriteString(part)
			some = true
		}
	}
	for i := 0; i < len(word); {
		switch c := word[i]; c {
		case '\'':
			n, _ := spanEnd(word[i:]) // the lexer has checked it
			cur.WriteString(word[i+1 : i+n-1])
			some, i = true, i+n
		case '"':
			n, _ := spanEnd(word[i:])
			cur.WriteString(sh.expandQuoted(word[i+1 : i+n-1]))
			some, i = true, i+n
		case '\\':
			if i+1 < len(word) {
				cur.WriteByte(word[i+1])
			}
			some, i = true, i+2
		case '$', '`':
			value, n := sh.substitute(word[i:])
			split(value)
			i += n
		default:
			cur.WriteByte(c)
			some = true
			i++
		}
	}
	if some {
		fields = append(fields, cur.String())
	}
	return fields
}

// expandQuoted expands the inside of double quotes.
func (sh *shell) expandQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0:
			b.WriteByte(s[i+1])
			i += 2
		case c == '$' || c == '`':
			value, n := sh.substitute(s[i:])
			b.WriteString(value)
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// substitute evaluates the expansion that s begins with and returns its value and its length in s.
func (sh *shell) substitute(s string) (string, int) {
	switch {
	case s[0] == '`' || strings.HasPrefix(s, "$("):
		n, err := spanEnd(s)
		if err != nil {
			return s, len(s)
		}
		if strings.HasPrefix(s, "$((") && strings.HasSuffix(s[:n], "))") {
			return strconv.Itoa(sh.arithmetic(s[3 : n-2])), n
		}
		return sh.subshell(s[strings.IndexAny(s, "`(")+1 : n-1]), n
	case strings.HasPrefix(s, "${"):
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return s, len(s)
		}
		name, fallback, _ := strings.Cut(s[2:end], ":-")
		if v := sh.variable(name); v != "" {
			return v, end + 1
		}
		return sh.expandQuoted(fallback), end + 1
	}
	n := 1
	for n < len(s) && isName(s[1:n+1]) {
		n++
	}
	if n == 1 && len(s) > 1 && strings.IndexByte("?$#!@*0123456789", s[1]) >= 0 {
		n = 2
	}
	if n == 1 {
		return "$", 1
	}
	return sh.variable(s[1:n]), n
}

func (sh *shell) variable(name string) string {
	switch name {
	case "?":
		return strconv.Itoa(sh.status)
	case "$", "!":
		return "1"
	case "#":
		return strconv.Itoa(max(0, len(sh.params)-1))
	case "@", "*":
		return strings.Join(sh.params[min(1, len(sh.params)):], " ")
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n < len(sh.params) {
			return sh.params[n]
		}
		return ""
	}
	if v, ok := sh.vars[name]; ok {
		return v
	}
	if name == "HOSTNAME" {
		return sh.p.cfg.Hostname
	}
	return ""
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// arithmetic evaluates + - * / % and parentheses over integers and variables; what it cannot read counts as 0.
func (sh *shell) arithmetic(expr string) int {
	a := &arith{sh: sh, s: strings.ReplaceAll(expr, " ", "")}
	return a.sum()
}

type arith struct {
	sh *shell
	s  string
}

func (a *arith) take(ops string) byte {
	if a.s == "" || strings.IndexByte(ops, a.s[0]) < 0 {
		return 0
	}
	op := a.s[0]
	a.s = a.s[1:]
	return op
}

func (a *arith) sum() int {
	v := a.product()
	for {
		switch a.take("+-") {
		case '+':
			v += a.product()
		case '-':
			v -= a.product()
		default:
			return v
		}
	}
}

func (a *arith) product() int {
	v := a.value()
	for {
		switch op := a.take("*/%"); op {
		case '*':
			v *= a.value()
		case '/', '%':
			d := a.value()
			if d == 0 {
				return 0
			}
			if op == '/' {
				v /= d
			} else {
				v %= d
			}
		default:
			return v
		}
	}
}

func (a *arith) value() int {
	if a.take("-") != 0 {
		return -a.value()
	}
	if a.take("(") != 0 {
		v := a.sum()
		a.take(")")
		return v
	}
	a.take("$")
	n := 0
	for n < len(a.s) && isName("x"+a.s[:n+1]) {
		n++
	}
	word := a.s[:n]
	a.s = a.s[n:]
	if v, err := strconv.Atoi(word); err == nil {
		return v
	}
	v, _ := strconv.Atoi(a.sh.variable(word)) // an unset variable counts as 0
	return v
}
