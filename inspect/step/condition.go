package step

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// A breakpoint is [before|after] [WHAT] [if CONDITIONS] [#N], or "on error [WHAT] ...", which means after WHAT if err.
// The conditions are those of package query. A person with access to the control socket writes it: root or the agent's
// user.

// fields are the fields of conditions. Some are known only after an action.
func fields(after bool) query.Fields {
	late := ""
	if !after {
		late = "is known only after an action: want break after ..."
	}
	return query.Fields{NoWords: true, Known: "dur, err, code, container, image or attempt", All: []query.Field{
		{Name: "dur", Kind: query.Duration, Refuse: late},
		{Name: "err", Kind: query.Text | query.Flag, Refuse: late},
		{Name: "code", Kind: query.Text, Check: checkCode, Refuse: late},
		{Name: "container", Kind: query.Text},
		{Name: "image", Kind: query.Text},
		{Name: "attempt", Kind: query.Number},
	}}
}

// row returns the fields of a question.
func row(q *gate.Question) query.Row {
	return query.Row{Field: func(name string) query.Value {
		switch name {
		case "dur":
			return query.Value{Figure: q.Took.Seconds(), Known: true}
		case "attempt":
			return query.Value{Figure: float64(q.Attempt), Known: true}
		case "container":
			return query.Value{Text: q.Container}
		case "image":
			return query.Value{Text: q.Image}
		case "code":
			return query.Value{Text: status.Code(q.Err).String()}
		case "err":
			if q.Err != nil {
				return query.Value{Text: q.Err.Error(), True: true}
			}
		}
		return query.Value{}
	}}
}

// parseBreak parses a breakpoint.
func parseBreak(line string) (*breakpoint, error) {
	p := &breakpoint{}
	body, err := p.number(line)
	if err != nil {
		return nil, err
	}
	place, conditions, where := split(body)
	words := strings.Fields(place)
	switch {
	case len(words) >= 2 && words[0] == "on" && words[1] == "error":
		p.after, p.failed, words = true, true, words[2:]
	case len(words) > 0 && (words[0] == "before" || words[0] == "after"):
		p.after, words = words[0] == "after", words[1:]
	}
	p.what = strings.Join(words, " ")
	if where > 0 {
		if p.cond, err = parseConditions(line, conditions, where, p.after); err != nil {
			return nil, err
		}
	}
	if p.what == "" && p.cond == nil && !p.failed {
		return nil, errors.New("want an action or a CRI method to stop at, such as create or PullImage")
	}
	if err := checkWhat(p.what); err != nil {
		return nil, err
	}
	p.text = p.say()
	if p.what == "" {
		p.what = "*"
	}
	return p, nil
}

// number removes #N from the end of a line.
func (p *breakpoint) number(line string) (rest string, err error) {
	rest = strings.TrimRight(line, " \t")
	i := strings.LastIndexAny(rest, " \t") + 1
	if !strings.HasPrefix(rest[i:], "#") || strings.Count(rest[:i], `"`)%2 == 1 {
		return rest, nil
	}
	if p.least, err = strconv.Atoi(rest[i+1:]); err != nil || p.least < 1 {
		return "", at(line, i, "want a number of hits from 1, such as #3")
	}
	return rest[:i], nil
}

// split returns the text before and after the first word "if", and the end of that word; 0 if there is none.
func split(body string) (place, conditions string, where int) {
	for i := 0; i < len(body); {
		n := strings.IndexAny(body[i:], " \t")
		if n < 0 {
			n = len(body) - i
		}
		if body[i:i+n] == "if" {
			return body[:i], body[i+n:], i + n
		}
		i += n + 1
	}
	return body, "", 0
}

func parseConditions(line, text string, where int, after bool) (*query.Filter, error) {
	f, err := query.Parse(text, fields(after))
	if bad, ok := errors.AsType[*query.Error](err); ok {
		return nil, &query.Error{Column: utf8.RuneCountInString(line[:where]) + bad.Column, Text: bad.Text}
	}
	if err == nil && f == nil {
		err = at(line, where, "want a condition, for example dur>1s")
	}
	return f, err
}

// say formats the breakpoint as it is listed.
func (p *breakpoint) say() string {
	out := "before "
	switch {
	case p.failed:
		out = "on error "
	case p.after:
		out = "after "
	}
	out += p.what
	if p.cond != nil {
		out = strings.TrimRight(out, " ") + " if " + p.cond.String()
	}
	if p.least > 0 {
		out = strings.TrimRight(out, " ") + " #" + strconv.Itoa(p.least)
	}
	return strings.TrimSpace(out)
}

// checkWhat returns an error for a position that no question can have.
func checkWhat(what string) error {
	if _, err := path.Match(what, ""); err != nil {
		return fmt.Errorf("%q: not a glob: %w", what, err)
	}
	if i := strings.IndexAny(what, "=<>~"); i >= 0 {
		return fmt.Errorf("%q: conditions go after if, for example create if container=web", what)
	}
	if what == "" || isStep(what) {
		return nil
	}
	missing := &lookup.NotFoundError{What: "step", Name: what, Known: append(slices.Clone(verbs), "or a CRI method such as PullImage")}
	first, _, _ := strings.Cut(what, " ")
	if near := human.Nearest(strings.Trim(first, "*?"), stepNames()); near != "" {
		missing.Near = []string{near}
	}
	return missing
}

func at(line string, i int, why string) error {
	return &query.Error{Column: utf8.RuneCountInString(line[:i]) + 1, Text: why}
}

// checkCode returns a gRPC code in the spelling of status.
func checkCode(s string) (string, error) {
	c, err := parseCode(s)
	return c.String(), err
}

// parseCode parses a gRPC code by its name or number: Unavailable, UNAVAILABLE, DEADLINE_EXCEEDED, 14.
func parseCode(s string) (codes.Code, error) {
	flat := strings.ReplaceAll(s, "_", "")
	var names []string
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if strings.EqualFold(c.String(), flat) || s == strconv.Itoa(int(c)) || c == codes.Canceled && strings.EqualFold(flat, "cancelled") {
			return c, nil
		}
		names = append(names, c.String())
	}
	if near := human.Nearest(flat, names); near != "" && s != "" {
		return 0, fmt.Errorf("%q is no gRPC code: did you mean %s?", s, near)
	}
	return 0, fmt.Errorf("%q is no gRPC code: want one such as Unavailable, NotFound, DeadlineExceeded or Unknown", s)
}
