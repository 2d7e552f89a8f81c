package step

import (
	"encoding/json"
	"fmt"
	"strings"
)

// print returns the request, the plan, the changes, or the value at a path of the request, the pod or its status.
func (s *Session) print(what string) (string, error) {
	s.mu.Lock()
	stop, object, waits := s.stop, s.object, s.waiting != nil
	s.mu.Unlock()
	what = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(what, "{"), "}"), ".")
	root, rest := what, ""
	if i := strings.IndexAny(what, ".["); i > 0 {
		root, rest = what[:i], what[i:]
	}
	switch root {
	case "", "request", "plan", "changed":
		if !waits {
			return "", ErrNothingWaits
		}
	}
	switch {
	case what == "" || what == "request":
		if stop.Request == "" {
			return stop.Next + " makes no request", nil
		}
		return stop.RequestTitle + "\n" + stop.Request, nil
	case what == "plan":
		return stop.Plan(), nil
	case what == "changed":
		if len(stop.Changed) == 0 {
			return "nothing changed", nil
		}
		return strings.Join(stop.Changed, "\n"), nil
	case root == "request":
		return printPath([]byte(stop.Request), root, rest)
	case root == "pod" || root == "status":
		if len(object) == 0 {
			return "", fmt.Errorf("%s: the pod has not been stopped yet", what)
		}
		var both map[string]json.RawMessage
		if err := json.Unmarshal(object, &both); err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return printPath(both[root], root, rest)
	}
	return "", fmt.Errorf("p %s: want p, p plan, p changed, or a path that begins with request, pod or status, for example p pod.spec.containers[0].image", what)
}

func printPath(object []byte, root, rest string) (string, error) {
	var v any
	if err := json.Unmarshal(object, &v); err != nil {
		return "", fmt.Errorf("%s has no fields: %w", root, err)
	}
	return lookUp(v, root, rest)
}
