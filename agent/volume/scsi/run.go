package scsi

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/program"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Limits. Upstream has none for programs.
const (
	patience  = 3 * time.Minute
	appear    = 30 * time.Second
	maxStdout = 1 << 20 // bytes: a discovery lists all targets
	maxStderr = 4 << 10
	maxQuoted = 1 << 10 // of what a program prints, in an error
)

// CommandError is a program that failed.
type CommandError struct {
	// Program is its name, Doing what it was run for.
	Program, Doing string
	// Said is what it printed, in one line; "" if it may have printed a secret.
	Said string
	Err  error
}

// Error implements error.
func (e *CommandError) Error() string {
	text := fmt.Sprintf("%s: %s: %v", e.Program, e.Doing, e.Err)
	if e.Said != "" {
		text += ": " + e.Said
	}
	return text
}

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// errNotInstalled is the error of a program that the node does not have.
var errNotInstalled = errors.New("the program is not installed on the node, or is not in the agent's PATH")

// command is a run of a program.
type command struct {
	program string
	// doing is what the program is run for, such as "login"; of is the volume's name.
	doing, of string
	// at is the portal or device, for errors.
	at     string
	secret bool // an argument is a secret
}

// run runs a program and returns what it printed on stdout. The error is a [*CommandError].
func (p *Plugin) run(ctx context.Context, c command, args ...string) (string, error) {
	event := trace.CSICall{Driver: c.program, Program: true, Method: c.doing, Volume: c.of}
	span := trace.Begin(p.cfg.Bus, trace.FromContext(ctx), event)
	out, err := program.Run(ctx, program.Limits{Time: p.cfg.Patience, Stdout: maxStdout, Stderr: maxStderr}, func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, c.program, args...)
	})
	if err == nil {
		event.Code = "OK"
		trace.End(p.cfg.Bus, span, event)
		return string(out.Stdout), nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = errNotInstalled
	}
	failed := &CommandError{Program: c.program, Doing: strings.TrimSpace(c.doing + " " + c.at), Err: err}
	if !c.secret {
		failed.Said = quote(string(out.Stderr))
		if failed.Said == "" {
			failed.Said = quote(string(out.Stdout))
		}
	}
	event.Err = failed.Error()
	event.Class = trace.Classify(event.Err)
	trace.End(p.cfg.Bus, span, event)
	return "", failed
}

// quote returns the beginning of a text in one line.
func quote(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) > maxQuoted {
		return strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return s
}

// exited reports whether a program failed with one of these statuses.
func exited(err error, statuses ...int) bool {
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	for _, s := range statuses {
		if e.ExitCode() == s {
			return true
		}
	}
	return false
}

// final reports whether another attempt, with another portal, makes no sense.
func final(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, errNotInstalled) || errors.Is(err, volume.ErrReleased)
}
