package script

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"strings"
	"time"
)

// shell is the state of one shell, or of one program outside a shell.
type shell struct {
	p        *Process
	main     bool // receives the process's signals
	execed   bool // the program is the process itself, not a child of a shell
	handles  bool // the program has a handler of its own for signals
	vars     map[string]string
	params   []string // $0 and on
	traps    map[string]string
	pending  []string // actions of traps that wait for the current command to end
	status   int
	jobs     []chan struct{}
	out, err io.Writer
}

// loopError leaves a loop: break, or continue.
type loopError struct{ again bool }

func (loopError) Error() string { return "only meaningful in a loop" }

// idle is the time that a loop takes for a turn that took none, so that a busy loop does not occupy a core.
const idle = 10 * time.Millisecond

// script parses and runs source text. Syntax that is not simulated runs until stopped, and says so.
func (sh *shell) script(src string) (int, error) {
	l, err := parse(src)
	if errors.Is(err, errUnsupported) {
		fmt.Fprintf(sh.err, "kubeloupe-sim: this script is not simulated: %v; it runs until it is stopped\n", err)
		return sh.forever()
	}
	if err != nil {
		fmt.Fprintf(sh.err, "sh: syntax error: %v\n", err)
		return 2, nil
	}
	// A shell replaces itself by its only command.
	if only, ok := soleCommand(l); ok && sh.execed {
		sh.status, err = sh.simple(only, true)
	} else {
		sh.execed = false
		err = sh.list(l)
	}
	return sh.status, err
}

func soleCommand(l list) (simple, bool) {
	if len(l) != 1 || l[0].background {
		return simple{}, false
	}
	s, ok := l[0].cmd.(simple)
	return s, ok
}

func (sh *shell) list(l list) error {
	for _, it := range l {
		if it.background {
			sh.start(it.cmd)
			sh.status = 0
			continue
		}
		if err := sh.run(it.cmd); err != nil {
			return err
		}
	}
	return nil
}

// start runs a command as a background job.
func (sh *shell) start(cmd node) {
	job := &shell{
		p: sh.p, vars: maps.Clone(sh.vars), params: sh.params, traps: map[string]string{},
		out: sh.out, err: sh.err, status: sh.status,
	}
	done := make(chan struct{})
	sh.jobs = append(sh.jobs, done)
	sh.p.jobs.Go(func() {
		defer close(done)
		_ = job.run(cmd) // a job's exit is its own affair
	})
}

// run executes one command, leaves its status in sh.status and then runs the traps that became due.
func (sh *shell) run(n node) error {
	var err error
	switch n := n.(type) {
	case list:
		err = sh.list(n)
	case not:
		if err = sh.run(n.cmd); err == nil {
			sh.status = truth(sh.status != 0)
		}
	case andOr:
		if err = sh.run(n.left); err == nil && (sh.status == 0) == n.and {
			err = sh.run(n.right)
		}
	case ifElse:
		if err = sh.list(n.cond); err != nil {
			break
		}
		branch := n.then
		if sh.status != 0 {
			branch = n.otherwise
		}
		sh.status = 0
		err = sh.list(branch)
	case loop:
		err = sh.loop(n)
	case forLoop:
		err = sh.forLoop(n)
	case simple:
		sh.status, err = sh.simple(n, false)
	}
	if err != nil {
		return err
	}
	return sh.runTraps()
}

func (sh *shell) runTraps() error {
	// Take signals that came while nothing was waiting.
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

func (sh *shell) loop(n loop) error {
	status := 0
	for {
		began := time.Now()
		if err := sh.list(n.cond); err != nil {
			return err
		}
		if (sh.status == 0) == n.until {
			sh.status = status
			return nil
		}
		if stop, err := sh.body(n.body); stop || err != nil {
			return err
		}
		status = sh.status
		if time.Since(began) < idle {
			if err := sh.sleep(idle); err != nil {
				return err
			}
		}
	}
}

func (sh *shell) forLoop(n forLoop) error {
	sh.status = 0
	for _, w := range n.words {
		for _, value := range sh.expand(w) {
			sh.vars[n.name] = value
			if stop, err := sh.body(n.body); stop || err != nil {
				return err
			}
		}
	}
	return nil
}

// body runs one turn of a loop; stop is true after break.
func (sh *shell) body(l list) (stop bool, err error) {
	err = sh.list(l)
	if le, ok := errors.AsType[loopError](err); ok {
		sh.status = 0
		return !le.again, nil
	}
	return false, err
}

// simple expands and runs one simple command.
func (sh *shell) simple(n simple, exec bool) (int, error) {
	words := n.words
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || !isName(name) {
			break
		}
		sh.vars[name] = strings.Join(sh.expand(value), " ")
		words = words[1:]
	}
	var args []string
	for _, w := range words {
		args = append(args, sh.expand(w)...)
	}
	if len(args) > 0 && args[0] == "exec" {
		args, exec = args[1:], true
	} else if len(args) == 0 {
		return 0, nil
	}
	out, errOut := sh.out, sh.err
	defer func() { sh.out, sh.err = out, errOut }()
	for _, r := range n.redirects {
		if err := sh.redirect(r); err != nil {
			fmt.Fprintf(sh.err, "sh: %v\n", err)
			return 1, nil
		}
	}
	if len(args) == 0 {
		return 0, nil
	}
	if !exec {
		return sh.command(args)
	}
	for sig, action := range sh.traps {
		if action != "" {
			delete(sh.traps, sig) // handlers do not survive exec, ignored signals do
		}
	}
	sh.execed = true
	status, err := sh.command(args)
	if err == nil {
		err = &exitError{Exit{Code: status}}
	}
	return status, err
}

// command runs a built-in command or a program from within a shell.
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

// redirect points an output at its target. Input redirections read nothing.
func (sh *shell) redirect(r redirect) error {
	if r.input {
		return nil
	}
	var w io.Writer
	switch target := strings.Join(sh.expand(r.target), " "); target {
	case "&1", "/dev/stdout", "/proc/1/fd/1":
		w = sh.out
	case "&2", "/dev/stderr", "/proc/1/fd/2":
		w = sh.err
	case "/dev/null":
		w = io.Discard
	default:
		if !r.append {
			if err := sh.p.cfg.Files.write(target, nil, false); err != nil {
				return fmt.Errorf("can't create %s: %w", target, err)
			}
		}
		w = fileWriter{sh.p.cfg.Files, target}
	}
	if r.fd == 2 {
		sh.err = w
	} else {
		sh.out = w
	}
	return nil
}

type fileWriter struct {
	files *Files
	name  string
}

func (w fileWriter) Write(b []byte) (int, error) {
	return len(b), w.files.write(w.name, b, true)
}

func (sh *shell) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	return sh.block(timer.C, nil, false)
}

// forever is a program that runs until it is stopped. One that is the process itself handles the signal.
func (sh *shell) forever() (int, error) {
	if sh.p.cfg.Once {
		return 0, nil
	}
	sh.handles = sh.execed
	return 0, sh.block(nil, nil, false)
}

// subshell runs source text with its output captured, as in $(...).
func (sh *shell) subshell(src string) string {
	var out strings.Builder
	l, err := parse(src)
	if err != nil {
		fmt.Fprintf(sh.err, "sh: %v\n", err)
		return ""
	}
	sub := &shell{p: sh.p, vars: maps.Clone(sh.vars), params: sh.params, traps: map[string]string{}, out: &out, err: sh.err, status: sh.status}
	_ = sub.list(l)
	sh.status = sub.status
	return strings.TrimRight(out.String(), "\n")
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
