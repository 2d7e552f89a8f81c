package step

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// The language: [before|after] [WHAT] [if FIELD OP VALUE [&& ...]] [#N], or "on error [WHAT]",
// which is after WHAT if err.

// term is one comparison of a condition.
type term struct {
	field, op, value string
	number           int64 // value as a number, or nanoseconds
	code             codes.Code
	re               *regexp.Regexp
}

// fields are those of a condition, and whether they are known only after an action.
var fields = map[string]struct{ after, number bool }{
	"dur": {after: true, number: true}, "err": {after: true}, "code": {after: true},
	"container": {}, "image": {}, "attempt": {number: true},
}

const fieldNames = "dur, err, code, container, image or attempt"

// word is a piece of a line, with its column from 1.
type word struct {
	text string
	col  int
}

// words splits a line at spaces, keeps what is quoted together, and takes operators
// apart from what is beside them.
func words(line string) []word {
	var out []word
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			i++
		default:
			n := wordLen(line[i:])
			out = append(out, word{line[i : i+n], i + 1})
			i += n
		}
	}
	return out
}

// ops are the operators, longest first.
var ops = []string{"&&", ">=", "<=", "==", "!=", ">", "<", "~"}

func operator(s string) string {
	for _, op := range ops {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

func wordLen(s string) int {
	if op := operator(s); op != "" {
		return len(op)
	}
	if s[0] == '"' {
		if end := strings.IndexByte(s[1:], '"'); end >= 0 {
			return end + 2
		}
		return len(s)
	}
	for i := range s {
		if s[i] == ' ' || s[i] == '\t' || operator(s[i:]) != "" {
			return i
		}
	}
	return len(s)
}

// parseBreak reads a breakpoint.
func parseBreak(line string) (*breakpoint, error) {
	p := &breakpoint{}
	ws := words(line)
	if n := len(ws); n > 0 && strings.HasPrefix(ws[n-1].text, "#") {
		least, err := strconv.Atoi(ws[n-1].text[1:])
		if err != nil || least < 1 {
			return nil, at(ws[n-1], "want a number of hits from 1, as #3")
		}
		p.least, ws = least, ws[:n-1]
	}
	onError := len(ws) >= 2 && ws[0].text == "on" && ws[1].text == "error"
	switch {
	case onError:
		p.after, ws = true, ws[2:]
		p.cond = []term{{field: "err"}}
	case len(ws) > 0 && (ws[0].text == "before" || ws[0].text == "after"):
		p.after, ws = ws[0].text == "after", ws[1:]
	}
	var what []string
	for len(ws) > 0 && ws[0].text != "if" {
		what, ws = append(what, ws[0].text), ws[1:]
	}
	p.what = strings.Join(what, " ")
	if err := p.conditions(ws); err != nil {
		return nil, err
	}
	if p.what == "" && len(p.cond) == 0 {
		return nil, errors.New("want an action or a CRI method to stop at, as create or PullImage")
	}
	if _, err := path.Match(p.what, ""); err != nil {
		return nil, fmt.Errorf("%q: not a glob: %w", p.what, err)
	}
	p.text = p.say(onError)
	if p.what == "" {
		p.what = "*"
	}
	return p, nil
}

// say spells the breakpoint as it is listed.
func (p *breakpoint) say(onError bool) string {
	out, cond := "before ", p.cond
	switch {
	case onError:
		out, cond = "on error ", cond[1:]
	case p.after:
		out = "after "
	}
	out += p.what
	for i := range cond {
		lead := " && "
		if i == 0 {
			lead = " if "
		}
		out = strings.TrimRight(out, " ") + lead + cond[i].field + cond[i].op + cond[i].value
	}
	if p.least > 0 {
		out += " #" + strconv.Itoa(p.least)
	}
	return strings.TrimSpace(out)
}

// conditions reads what is after "if".
func (p *breakpoint) conditions(ws []word) error {
	if len(ws) == 0 {
		return nil
	}
	last := ws[0]
	for rest := ws[1:]; ; {
		if len(rest) == 0 {
			return at(word{col: last.col + len(last.text)}, "want a condition, as dur>1s")
		}
		t, n, err := parseTerm(rest, p.after)
		if err != nil {
			return err
		}
		p.cond = append(p.cond, t)
		if rest = rest[n:]; len(rest) == 0 {
			return nil
		}
		if rest[0].text != "&&" {
			return at(rest[0], fmt.Sprintf("%q: want && and a further condition", rest[0].text))
		}
		last, rest = rest[0], rest[1:]
	}
}

// parseTerm reads one comparison, and says how many words it took.
func parseTerm(ws []word, after bool) (t term, n int, err error) {
	f := ws[0]
	known, ok := fields[f.text]
	switch {
	case !ok:
		return t, 0, at(f, fmt.Sprintf("unknown field %q: want %s", f.text, fieldNames))
	case known.after && !after:
		return t, 0, at(f, f.text+" is known only after an action: say break after ...")
	}
	t.field = f.text
	if len(ws) == 1 || ws[1].text == "&&" {
		if f.text == "err" {
			return t, 1, nil // there is one
		}
		return t, 0, at(word{col: f.col + len(f.text)}, "want an operator, one of > >= < <= == != ~")
	}
	if t.op = ws[1].text; !slices.Contains(ops, t.op) {
		return t, 0, at(ws[1], fmt.Sprintf("%q is no operator: want one of > >= < <= == != ~", t.op))
	}
	if order := strings.ContainsAny(t.op, "<>"); known.number && t.op == "~" || !known.number && order {
		return t, 0, at(ws[1], fmt.Sprintf("%s cannot be compared with %s", f.text, t.op))
	}
	if len(ws) == 2 {
		return t, 0, at(word{col: ws[1].col + len(t.op)}, "want a value")
	}
	t.value = ws[2].text
	return t, 3, t.read(ws[2])
}

// read makes of a value what it is compared as.
func (t *term) read(w word) error {
	value := strings.Trim(t.value, `"`)
	switch {
	case t.op == "~":
		re, err := regexp.Compile(value)
		if err != nil {
			return at(w, fmt.Sprintf("%q is no regular expression: %v", value, err))
		}
		t.re = re
	case t.field == "dur":
		d, err := time.ParseDuration(value)
		if err != nil {
			return at(w, fmt.Sprintf("%q is no duration: want one as 1s or 250ms", value))
		}
		t.number = d.Nanoseconds()
	case t.field == "attempt":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return at(w, fmt.Sprintf("%q is no number", value))
		}
		t.number = n
	case t.field == "code":
		c, err := parseCode(value)
		if err != nil {
			return at(w, err.Error())
		}
		t.code = c
	}
	return nil
}

// holds reports whether the comparison is true.
func (t *term) holds(q *gate.Question) bool {
	text := ""
	switch t.field {
	case "dur":
		return t.compare(q.Took.Nanoseconds())
	case "attempt":
		return t.compare(int64(q.Attempt))
	case "err":
		if q.Err != nil {
			text = q.Err.Error()
		}
		if t.op == "" {
			return q.Err != nil
		}
	case "code":
		code := codes.OK
		if q.Err != nil {
			code = codeOf(q.Err)
		}
		if t.re == nil {
			return (code == t.code) == (t.op == "==")
		}
		text = code.String()
	case "container":
		text = q.Container
	case "image":
		text = q.Image
	}
	if t.re != nil {
		return t.re.MatchString(text)
	}
	return (text == strings.Trim(t.value, `"`)) == (t.op == "==")
}

func (t *term) compare(n int64) bool {
	switch t.op {
	case ">":
		return n > t.number
	case ">=":
		return n >= t.number
	case "<":
		return n < t.number
	case "<=":
		return n <= t.number
	case "!=":
		return n != t.number
	}
	return n == t.number
}

func codeOf(err error) codes.Code { return status.Code(err) }

// parseCode reads a gRPC code by its name or number: Unavailable, UNAVAILABLE, DEADLINE_EXCEEDED, 14.
func parseCode(s string) (codes.Code, error) {
	flat := strings.ReplaceAll(s, "_", "")
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if strings.EqualFold(c.String(), flat) || s == strconv.Itoa(int(c)) || c == codes.Canceled && strings.EqualFold(flat, "cancelled") {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%q is no gRPC code: want one as Unavailable, NotFound, DeadlineExceeded or Unknown", s)
}

func at(w word, why string) error { return fmt.Errorf("column %d: %s", w.col, why) }
