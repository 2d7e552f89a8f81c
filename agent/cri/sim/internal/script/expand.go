package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxExpansion limits the size of an expanded command line, in bytes, as a kernel limits arguments.
const maxExpansion = 128 << 10

var errTooLong = errors.New("argument list too long")

// fields expands words to arguments. It does not expand file name patterns.
func (sh *shell) fields(words []*syntax.Word) ([]string, error) {
	var out []string
	e := &expansion{sh: sh, left: maxExpansion}
	for _, w := range words {
		got, err := expand.Fields(e.config(), w)
		if got, err = e.result(got, err); err != nil {
			return nil, err
		}
		out = append(out, got...)
	}
	return out, nil
}

// literal expands a word to one text, as in an assignment. The word may be nil.
func (sh *shell) literal(w *syntax.Word) (string, error) {
	e := &expansion{sh: sh, left: maxExpansion}
	text, err := expand.Literal(e.config(), w)
	got, err := e.result([]string{text}, err)
	return strings.Join(got, ""), err
}

// expansion is the environment of the expansion of one command line: parts of its shell, and nothing of the host.
type expansion struct {
	sh   *shell
	left int // bytes left; below 0 if it was too long
}

func (e *expansion) config() *expand.Config {
	return &expand.Config{Env: e, CmdSubst: e.command}
}

// result returns the result of an expansion. A word with arithmetic without a result, such as a division by zero, is 0.
func (e *expansion) result(got []string, err error) ([]string, error) {
	if e.left < 0 {
		return nil, errTooLong
	}
	if unset, ok := errors.AsType[expand.UnsetParameterError](err); ok { // ${name:?message}
		fmt.Fprintf(e.sh.err, "sh: %v\n", unset)
		return nil, &exitError{Exit{Code: 2}}
	}
	if err != nil {
		return []string{"0"}, nil
	}
	return got, nil
}

// Get implements expand.Environ.
func (e *expansion) Get(name string) expand.Variable {
	v := e.sh.variable(name)
	e.left -= len(v.Str)
	for _, s := range v.List {
		e.left -= len(s)
	}
	if e.left < 0 {
		return expand.Variable{}
	}
	return v
}

// Each implements expand.Environ. Nothing that is simulated calls it.
func (*expansion) Each(func(string, expand.Variable) bool) {}

// Set implements expand.WriteEnviron, for ${name:=value} and arithmetic.
func (e *expansion) Set(name string, v expand.Variable) error { return e.sh.vars.set(name, v.Str) }

// command runs the commands in $(...).
func (e *expansion) command(w io.Writer, cs *syntax.CmdSubst) error {
	sh := e.sh
	if err := check(cs.Stmts); err != nil {
		fmt.Fprintf(sh.err, "sh: %v\n", err)
		return nil
	}
	out := &buffer{room: e.left + 1}
	sub := sh.fork(out)
	_ = sub.list(cs.Stmts) // its error does not affect the outer command
	sh.status = sub.status
	b := out.bytes()
	e.left -= len(b)
	_, err := w.Write(b)
	return err
}

// buffer keeps the beginning of what is written. Background jobs may still write after it was read.
type buffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	room int
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Write(p[:max(0, min(len(p), b.room-b.b.Len()))])
	return len(p), nil
}

func (b *buffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.b.Bytes())
}

// variable returns a variable or a special parameter. Unset ones are the zero value.
func (sh *shell) variable(name string) expand.Variable {
	is := func(s string) expand.Variable { return expand.Variable{Set: true, Kind: expand.String, Str: s} }
	switch name {
	case "?":
		return is(strconv.Itoa(sh.status))
	case "$", "!":
		return is("1")
	case "#":
		return is(strconv.Itoa(max(0, len(sh.params)-1)))
	case "@", "*":
		return expand.Variable{Set: len(sh.params) > 1, Kind: expand.Indexed, List: sh.params[min(1, len(sh.params)):]}
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 0 && n < len(sh.params) {
			return is(sh.params[n])
		}
		return expand.Variable{}
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok { // ~user: without a result, package expand would look up the host's users
		return is("~" + user)
	}
	if v, ok := sh.vars.values[name]; ok {
		return is(v)
	}
	if name == "HOSTNAME" {
		return is(sh.p.cfg.Hostname)
	}
	return expand.Variable{}
}
