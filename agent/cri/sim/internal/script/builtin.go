package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin runs the shell's built-in commands; ok is false for any other name.
func (sh *shell) builtin(args []string) (status int, ok bool, err error) {
	switch args[0] {
	case "exit":
		code := sh.status
		if len(args) > 1 {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				n = 2
			}
			code = n & 0xff
		}
		return code, true, &exitError{Exit{Code: code}}
	case "break", "continue":
		return 0, true, loopError{again: args[0] == "continue"}
	case "trap":
		return sh.trap(args[1:]), true, nil
	case "wait":
		status, err := sh.wait()
		return status, true, err
	case ":", "set", "export", "cd", "umask", "unset", "readonly", "local", "shift", "ulimit":
		for _, a := range args[1:] {
			k, v, found := strings.Cut(a, "=")
			if !found || args[0] == "set" || !syntax.ValidName(k) {
				continue
			}
			if err := sh.vars.set(k, v); err != nil {
				return 1, true, sh.failed(err)
			}
		}
		return 0, true, nil
	case "eval":
		if sh.depth++; sh.depth > maxDepth {
			fmt.Fprintln(sh.err, "sh: eval: nested too deeply")
			return 2, true, &exitError{Exit{Code: 2}}
		}
		defer func() { sh.depth-- }()
		l, err := parse(strings.Join(args[1:], " "))
		if err != nil {
			fmt.Fprintf(sh.err, "sh: eval: %v\n", err)
			return 2, true, nil
		}
		err = sh.list(l)
		return sh.status, true, err
	}
	return 0, false, nil
}

// trap stores actions by signal; an empty action ignores the signal, "-" restores the default.
func (sh *shell) trap(args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) < 2 {
		return 0
	}
	for _, sig := range args[1:] {
		sig = strings.TrimPrefix(strings.ToUpper(sig), "SIG")
		for name, n := range signalNumbers {
			if sig == strconv.Itoa(n) {
				sig = name
			}
		}
		if args[0] == "-" {
			delete(sh.traps, sig)
		} else {
			sh.traps[sig] = args[0]
		}
	}
	return 0
}

// wait blocks until every background job has ended. A trapped signal interrupts it.
func (sh *shell) wait() (int, error) {
	for len(sh.jobs) > 0 {
		err := sh.block(nil, sh.jobs[0], true)
		if errors.Is(err, errInterrupted) {
			return 128 + signalNumber("TERM"), nil
		}
		if err != nil {
			return 0, err
		}
		sh.jobs = sh.jobs[1:]
	}
	return 0, nil
}
