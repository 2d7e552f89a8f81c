package step

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/codes"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Help is the output of `h`.
const Help = `n, Enter     run the next action, then stop; also stops after an action that failed
s            step into: also stop before the next CRI call
c            continue to the next breakpoint or to the end
until WHAT   continue until the pod is ready, started or gone, or until an action
retry        retry the action that failed
fail CODE    make the next action or call fail with a gRPC code, such as fail Unavailable "no route"
delay D      delay the next action or call, such as delay 2s
b WHAT       breakpoint before actions with this verb, id or CRI method (a glob)
b after WHAT [if dur>1s container=web] [#3]     fields: dur, err, code, container, image, attempt; #3: from the third hit
b on error   breakpoint after a failure; b lists all breakpoints, b -WHAT or b -N removes one
p [PATH]     print the next request, or p plan, p changed, or a path in pod, status or request
i            inspect: what exists on the node for this pod now
diff         show changes since the last stop; diff start: since the first stop
where        show the current action, plan and sync, and the reason for the stop
! [CMD]      run a shell or a command on the node; KUBELOUPE_POD, _SANDBOX and _NETNS are set
transcript F append all commands and their output to file F
q            quit and delete the pod; for a pod of a running agent: quit, the pod continues`

// ErrNothingWaits is the error of n and c while no action is paused.
var ErrNothingWaits = errors.New("no action waits: it runs, or the plan is done")

// ErrElsewhere is the error for commands that the client's Front executes.
var ErrElsewhere = errors.New("only in a session on the agent's own terminal")

// long are the short commands' full names.
var long = map[string]string{
	"": "next", "n": "next", "s": "step", "c": "continue", "b": "break", "p": "print", "i": "inspect", "w": "where", "h": "help", "?": "help",
	"q": "quit", "!": "shell", "u": "until",
}

// alone are the commands without arguments.
var alone = []string{"next", "step", "continue", "retry", "inspect", "where", "help", "quit"}

// Split splits a command line into the command's full name and the rest.
func Split(line string) (command, rest string) {
	command = strings.TrimSpace(line)
	if strings.HasPrefix(command, "!") {
		return "shell", strings.TrimSpace(command[1:])
	}
	if i := strings.IndexFunc(command, unicode.IsSpace); i > 0 {
		command, rest = command[:i], strings.TrimSpace(command[i:])
	}
	if full, ok := long[command]; ok {
		command = full
	}
	return command, rest
}

// Do executes one command line and returns its output; nothing if the pod continues. The caller handles a quit (see Quitting). An
// unknown command is an error that lists the known ones.
func (s *Session) Do(ctx context.Context, line string) (string, error) {
	command, rest := Split(line)
	if rest != "" && slices.Contains(alone, command) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		return "", fmt.Errorf("%s takes no argument: remove %q", word, rest)
	}
	switch command {
	case "next":
		return "", s.release(toAction, answer{verdict: trace.GateGo})
	case "step":
		return "", s.release(toCall, answer{verdict: trace.GateGo})
	case "continue":
		return "", s.release(toBreak, answer{verdict: trace.GateGo})
	case "until":
		return s.goUntil(rest)
	case "retry":
		return "", s.retry()
	case "fail":
		return "", s.fail(rest)
	case "delay":
		return "", s.delay(rest)
	case "break", "clear":
		return s.breakpoint(command, rest)
	case "print":
		return s.print(rest)
	case "inspect":
		return s.inspect(ctx)
	case "diff":
		return s.diff(ctx, rest)
	case "where":
		return s.where()
	case "shell", "transcript":
		return "", fmt.Errorf("%s: %w", command, ErrElsewhere)
	case "help":
		return Help, nil
	case "quit":
		if s.cfg.Attached {
			s.Close()
		} else {
			s.Quit()
		}
		return "", nil
	}
	return "", fmt.Errorf("unknown command %q; known are:\n%s", command, Help)
}

// release releases the paused action, as far as p says.
func (s *Session) release(p pace, a answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.say(a) {
		return ErrNothingWaits
	}
	s.pace, s.until = p, ""
	return nil
}

// milestones are the milestones that until accepts.
var milestones = []string{"started", "ready", "gone"}

// goUntil continues the pod until a milestone or an action. Breakpoints are kept.
func (s *Session) goUntil(what string) (string, error) {
	if what == "" {
		return "", errors.New("until: want started, ready, gone, or an action such as create")
	}
	var b *breakpoint
	if !slices.Contains(milestones, what) {
		var err error
		if b, err = parseBreak(what); err != nil {
			if near := human.Nearest(what, milestones); near != "" {
				err = &lookup.NotFoundError{What: "milestone", Name: what, Near: []string{near}, Known: milestones}
			}
			return "", fmt.Errorf("until: %w", err)
		}
		b.once, b.text = true, "until "+what
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b == nil && slices.ContainsFunc(s.passed, func(m Milestone) bool { return m.Name == trace.MilestoneName(what) }) && s.waiting == nil {
		return "", fmt.Errorf("%s is %s already", s.cfg.Pod, what)
	}
	if b != nil {
		s.breaks.set(b)
	} else {
		s.until = trace.MilestoneName(what)
	}
	s.pace = toBreak
	if !s.say(answer{verdict: trace.GateGo}) {
		return "no action waits now; continues until " + what, nil
	}
	return "", nil
}

func (s *Session) retry() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.waiting == nil:
		return ErrNothingWaits
	case s.stop.When != gate.After || s.stop.Err == "":
		return fmt.Errorf("retry: %s has not failed; only what failed can be done again", s.stop.Next)
	}
	s.say(answer{verdict: trace.GateRetry, Answer: gate.Answer{Do: gate.Retry}})
	s.pace = toBreak
	s.breaks.set(&breakpoint{what: glob(s.stop.Next), after: true, once: true, text: "retry"})
	return nil
}

// glob returns a pattern that matches only name.
func glob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

func (s *Session) fail(rest string) error {
	name, message, _ := strings.Cut(rest, " ")
	code, err := parseCode(name)
	switch {
	case name == "":
		return errors.New("fail: want a gRPC code, for example fail Unavailable")
	case err != nil:
		return fmt.Errorf("fail: %w", err)
	case code == codes.OK:
		return errors.New("fail: OK is no failure")
	}
	return s.before("fail", answer{verdict: trace.GateFail, Answer: gate.Answer{Do: gate.Fail, Code: uint32(code), Message: strings.Trim(strings.TrimSpace(message), `"`)}})
}

// maxDelay is the maximum delay that a person can set.
const maxDelay = time.Hour

func (s *Session) delay(rest string) error {
	d, err := time.ParseDuration(rest)
	if err != nil || d <= 0 || d > maxDelay {
		return fmt.Errorf("delay %q: want a time up to %s, for example delay 2s", rest, maxDelay)
	}
	return s.before("delay", answer{verdict: trace.GateDelay, Answer: gate.Answer{Delay: d, Left: s.left}})
}

// before gives an answer that is valid only before an action or a call.
func (s *Session) before(command string, a answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil && s.stop.When == gate.After {
		return fmt.Errorf("%s: %s is done already; it stands before an action or a call", command, s.stop.Next)
	}
	if !s.say(a) {
		return ErrNothingWaits
	}
	s.pace, s.until = toAction, ""
	return nil
}

func (s *Session) breakpoint(command, what string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, remove := strings.CutPrefix(what, "-")
	switch {
	case remove || command == "clear":
		text, err := s.breaks.clear(strings.TrimSpace(name))
		if err != nil {
			return "", err
		}
		return "breakpoint " + text + " removed", nil
	case what == "":
		return s.breaks.list(), nil
	}
	b, err := parseBreak(what)
	if err != nil {
		return "", fmt.Errorf("break: %w", err)
	}
	return "will stop " + s.breaks.set(b).text, nil
}
