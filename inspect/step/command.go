package step

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Help is what `h` prints.
const Help = `n, Enter   do the next action, then stop
c          go on until a breakpoint, or the end
b WHAT     stop before actions of that verb, id or CRI method (a glob); b alone lists; b -WHAT removes
p          print the request that comes next; p plan, p changed
q          delete the pod, clean up and quit`

// ErrNothingWaits is the answer to n and c while no action waits.
var ErrNothingWaits = errors.New("no action waits: it runs, or the plan is done")

// Do carries out one command line and returns what it says. The caller acts on a quit
// (see Quitting). An unknown command is an error that lists the known ones.
func (s *Session) Do(_ context.Context, line string) (string, error) {
	word, rest := strings.TrimSpace(line), ""
	if i := strings.IndexFunc(word, unicode.IsSpace); i > 0 {
		word, rest = word[:i], strings.TrimSpace(word[i:])
	}
	switch word {
	case "b", "break":
		return s.breakpoint(rest)
	case "p", "print":
		return s.print(rest)
	case "", "n", "next", "c", "continue", "h", "help", "?", "q", "quit":
		if rest != "" {
			return "", fmt.Errorf("%s stands alone: what is %q?", word, rest)
		}
	}
	switch word {
	case "", "n", "next":
		return "", s.release(false)
	case "c", "continue":
		return "", s.release(true)
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
	if !s.say(answer{verdict: "go"}) {
		return ErrNothingWaits
	}
	s.running = on
	return nil
}

// Waiting returns the stop at which an action waits now.
func (s *Session) Waiting() (Stop, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return Stop{}, false
	}
	return s.stop, true
}

func (s *Session) breakpoint(what string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := strings.CutPrefix(what, "-"); ok {
		name = strings.TrimSpace(name)
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
	names := append(methods(stop.RequestTitle), stop.Next)
	for _, a := range stop.Actions {
		if a.ID == stop.Next {
			names = append(names, a.Verb)
		}
	}
	for _, b := range s.breaks {
		if slices.ContainsFunc(names, func(name string) bool { return match(b, name) }) {
			return true
		}
	}
	return false
}

// match matches a glob whose * crosses slashes too: the ids of images have them.
func match(glob, name string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(glob), flat.Replace(name))
	return err == nil && ok
}

// methods are the CRI methods that a title names: ImageStatus and PullImage of
// "runtime.v1.ImageStatusRequest, then PullImage if needed".
func methods(title string) []string {
	var out []string
	for word := range strings.FieldsSeq(title) {
		word = strings.TrimPrefix(strings.TrimSuffix(word, ","), "runtime.v1.")
		if word != "" && unicode.IsUpper(rune(word[0])) {
			out = append(out, strings.TrimSuffix(word, "Request"))
		}
	}
	return out
}

func (s *Session) print(what string) (string, error) {
	stop, waits := s.Waiting()
	switch what {
	case "", "request", "plan", "changed":
		if !waits {
			return "", ErrNothingWaits
		}
	}
	switch what {
	case "", "request":
		if stop.Request == "" {
			return stop.Next + " makes no request", nil
		}
		return stop.RequestTitle + "\n" + stop.Request, nil
	case "plan":
		return stop.Plan(), nil
	case "changed":
		if len(stop.Changed) == 0 {
			return "nothing changed", nil
		}
		return strings.Join(stop.Changed, "\n"), nil
	}
	return "", fmt.Errorf("p %s: want p, p plan or p changed", what)
}
