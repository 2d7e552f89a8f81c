package script

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// shell is the state of one shell, or of one program outside a shell.
type shell struct {
	p        *Process
	main     bool // receives the process's signals
	execed   bool // the program is the process itself, not the child of a shell
	handles  bool // the program has its own signal handler
	vars     *variables
	params   []string // $0 and following
	traps    map[string]string
	pending  []string // actions of traps that wait until the current command ends
	status   int
	depth    int // nesting of shells and eval
	jobs     []chan struct{}
	out, err io.Writer
}

// loopError leaves a loop: break, or continue.
type loopError struct{ again bool }

func (loopError) Error() string { return "only meaningful in a loop" }

// idle is the duration of a loop iteration that took no time, so that a busy loop does not use a whole core.
const idle = 10 * time.Millisecond

const (
	// maxDepth limits the nesting of shells and eval: each needs stack.
	maxDepth = 16
	// maxJobs limits the number of concurrent background jobs of a process.
	maxJobs = 500
)

// script parses and runs source text. If its syntax is not simulated, it writes that to standard error and runs until
// stopped.
func (sh *shell) script(src string) (int, error) {
	if sh.depth++; sh.depth > maxDepth {
		fmt.Fprintln(sh.err, "sh: shells are nested too deeply")
		return 2, nil
	}
	l, err := parse(src)
	if errors.Is(err, errUnsupported) {
		fmt.Fprintf(sh.err, "kubeloupe-sim: this script is not simulated: %v; it runs until it is stopped\n", err)
		return sh.forever()
	}
	if err != nil {
		fmt.Fprintf(sh.err, "sh: syntax error: %v\n", err)
		return 2, nil
	}
	// A shell replaces itself with its only command.
	if only, ok := soleCommand(l); ok && sh.execed {
		sh.status, err = sh.simple(only, l[0].Redirs, true)
	} else {
		sh.execed = false
		err = sh.list(l)
	}
	return sh.status, err
}

func soleCommand(l []*syntax.Stmt) (*syntax.CallExpr, bool) {
	if len(l) != 1 || l[0].Background || l[0].Negated {
		return nil, false
	}
	call, ok := l[0].Cmd.(*syntax.CallExpr)
	return call, ok
}

func (sh *shell) list(l []*syntax.Stmt) error {
	for _, st := range l {
		run := sh.run
		if st.Background {
			run = sh.start
		}
		if err := run(st); err != nil {
			return err
		}
	}
	return nil
}

// fork returns a copy of the shell, without its traps.
func (sh *shell) fork(out io.Writer) *shell {
	return &shell{
		p: sh.p, vars: sh.vars.clone(), params: sh.params, traps: map[string]string{},
		out: out, err: sh.err, status: sh.status, depth: sh.depth,
	}
}

// start runs a command as a background job.
func (sh *shell) start(st *syntax.Stmt) error {
	if sh.p.running.Add(1) > maxJobs {
		sh.p.running.Add(-1)
		fmt.Fprintln(sh.err, "sh: can't fork: Resource temporarily unavailable")
		sh.status = 2
		return &exitError{Exit{Code: 2}}
	}
	job := sh.fork(sh.out)
	done := make(chan struct{})
	sh.jobs = append(slices.DeleteFunc(sh.jobs, isClosed), done)
	sh.p.jobs.Go(func() {
		defer close(done)
		defer sh.p.running.Add(-1)
		_ = job.run(st) // a job's error does not affect the shell
	})
	sh.status = 0
	return nil
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// run executes one command, stores its status in sh.status and then runs the traps that are due.
func (sh *shell) run(st *syntax.Stmt) error {
	var err error
	if call, ok := st.Cmd.(*syntax.CallExpr); ok || st.Cmd == nil {
		sh.status, err = sh.simple(call, st.Redirs, false)
	} else {
		err = sh.compound(st)
	}
	if err != nil {
		return err
	}
	if st.Negated {
		sh.status = truth(sh.status != 0)
	}
	return sh.runTraps()
}

func (sh *shell) runTraps() error {
	// Handle signals that arrived while nothing waited.
	for sh.main {
		select {
		case sig := <-sh.p.signals:
			if err := sh.deliver(sig); err != nil {
				return err
			}
			continue
		default:
		}
		break
	}
	select {
	case <-sh.p.killed:
		return &exitError{sh.p.exit}
	default:
	}
	for len(sh.pending) > 0 {
		action := sh.pending[0]
		sh.pending = sh.pending[1:]
		l, err := parse(action)
		if err != nil {
			fmt.Fprintf(sh.err, "sh: trap: %v\n", err)
			continue
		}
		status := sh.status
		if err := sh.list(l); err != nil {
			return err
		}
		sh.status = status
	}
	return nil
}

// failed reports why a command did not run. It returns only errors that end the shell.
func (sh *shell) failed(err error) error {
	if _, ok := errors.AsType[*exitError](err); ok {
		return err
	}
	fmt.Fprintf(sh.err, "sh: %v\n", err)
	sh.status = 1
	return nil
}

// simple expands and runs one simple command; n is nil if there are only redirections.
func (sh *shell) simple(n *syntax.CallExpr, redirects []*syntax.Redirect, exec bool) (int, error) {
	var args []string
	if n != nil {
		for _, a := range n.Assigns {
			value, err := sh.literal(a.Value)
			if err == nil {
				err = sh.vars.set(a.Name.Value, value)
			}
			if err != nil {
				return 1, sh.failed(err)
			}
		}
		var err error
		if args, err = sh.fields(n.Args); err != nil {
			return 1, sh.failed(err)
		}
	}
	if len(args) > 0 && args[0] == "exec" {
		args, exec = args[1:], true
	}
	out, errOut := sh.out, sh.err
	defer func() { sh.out, sh.err = out, errOut }()
	if ok, err := sh.redirect(redirects); !ok || err != nil {
		return 1, err
	}
	if len(args) == 0 {
		return 0, nil
	}
	if !exec {
		return sh.command(args)
	}
	for sig, action := range sh.traps {
		if action != "" {
			delete(sh.traps, sig) // handlers do not survive exec; ignored signals do
		}
	}
	sh.execed = true
	status, err := sh.command(args)
	if err == nil {
		err = &exitError{Exit{Code: status}}
	}
	return status, err
}

// command runs a built-in command or a program in a shell.
func (sh *shell) command(args []string) (int, error) {
	if status, ok, err := sh.builtin(args); ok {
		return status, err
	}
	if !sh.p.exists(args[0]) {
		fmt.Fprintf(sh.err, "sh: %s: not found\n", args[0])
		return 127, nil
	}
	return sh.program(args)
}

func (sh *shell) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	return sh.block(timer.C, nil, false)
}

// forever is a program that runs until it is stopped. If it is the process itself, it handles the signal.
func (sh *shell) forever() (int, error) {
	if sh.p.cfg.Once {
		return 0, nil
	}
	sh.handles = sh.execed
	return 0, sh.block(nil, nil, false)
}

func truth(b bool) int {
	if b {
		return 0
	}
	return 1
}

func isShell(name string) bool {
	switch path.Base(name) {
	case "sh", "ash", "bash", "dash":
		return true
	}
	return false
}
