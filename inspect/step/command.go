package step

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Help is what `h` prints.
const Help = `n          do the next action, then stop
c          go on until a breakpoint, or the end
b WHAT     stop before actions of that verb or id (a glob); b alone lists; b -WHAT removes
p          print the request that comes next; p plan, p changed
q          delete the pod, clean up and quit`

// ErrNothingWaits is the answer to n and c while no action waits.
var ErrNothingWaits = errors.New("no action waits: it runs, or the plan is done")

// Do carries out one command line and returns what it says. The caller acts on a quit
// (see Quitting). An unknown command is an error that lists the known ones.
func (s *Session) Do(_ context.Context, line string) (string, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "", "n", "next":
		return "", s.release(false)
	case "c", "continue":
		return "", s.release(true)
	case "b", "break":
		return s.breakpoint(rest)
	case "p", "print":
		return s.print(rest)
	case "h", "help", "?":
		return Help, nil
	case "q", "quit":
		s.Quit()
		return "", nil
	}
	return "", fmt.Errorf("unknown command %q; known are:\n%s", word, Help)
}

// release lets the waiting action go.
func (s *Session) release(on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return ErrNothingWaits
	}
	s.running = on
	s.waiting <- nil
	s.waiting = nil
	return nil
}

// Waiting returns the stop at which an action waits now.
func (s *Session) Waiting() (Stop, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop, s.waiting != nil
}

func (s *Session) breakpoint(what string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := strings.CutPrefix(what, "-"); ok {
		n := len(s.breaks)
		s.breaks = slices.DeleteFunc(s.breaks, func(b string) bool { return b == name })
		if n == len(s.breaks) {
			return "", fmt.Errorf("no breakpoint %q", name)
		}
		return "breakpoint " + name + " removed", nil
	}
	if what == "" {
		if len(s.breaks) == 0 {
			return "no breakpoints; b WHAT sets one, as b create", nil
		}
		return "breakpoints: " + strings.Join(s.breaks, ", "), nil
	}
	if _, err := path.Match(what, ""); err != nil {
		return "", fmt.Errorf("breakpoint %q: not a glob: %w", what, err)
	}
	if !slices.Contains(s.breaks, what) {
		s.breaks = append(s.breaks, what)
	}
	return "will stop before " + what, nil
}

// breaksAt reports whether a breakpoint names the stop's action. Called with mu.
func (s *Session) breaksAt(stop Stop) bool {
	verb := ""
	for _, a := range stop.Actions {
		if a.ID == stop.Next {
			verb = a.Verb
		}
	}
	for _, b := range s.breaks {
		for _, name := range []string{verb, stop.Next, strings.TrimSuffix(strings.TrimPrefix(stop.RequestTitle, "runtime.v1."), "Request")} {
			if ok, err := path.Match(b, name); err == nil && ok {
				return true
			}
		}
	}
	return false
}

func (s *Session) print(what string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return "", ErrNothingWaits
	}
	switch what {
	case "", "request":
		return s.stop.RequestTitle + "\n" + s.stop.Request, nil
	case "plan":
		return s.stop.Plan(), nil
	case "changed":
		if len(s.stop.Changed) == 0 {
			return "nothing changed", nil
		}
		return strings.Join(s.stop.Changed, "\n"), nil
	}
	return "", fmt.Errorf("p %s: want p, p plan or p changed", what)
}
