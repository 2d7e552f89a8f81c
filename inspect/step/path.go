package step

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// part is one part of a path: a field, an index, or all elements.
type part struct {
	name  string
	index int
	list  bool // [index]
	all   bool // * or [*]
}

// parsePath parses a path such as pod.spec.containers[0].env[*].name. A field with dots must be in brackets and quotes:
// annotations['a.b/c']. Columns in errors count from the beginning, root.
func parsePath(root, s string) ([]part, error) {
	col := len(root)
	var out []part
	for i := 0; i < len(s); {
		if s[i] == '.' {
			i++
			if i == len(s) || s[i] == '.' {
				return nil, fmt.Errorf("column %d: want a field after the dot", col+i+1)
			}
			continue
		}
		if s[i] != '[' {
			n := strings.IndexAny(s[i:], ".[")
			if n < 0 {
				n = len(s) - i
			}
			out = append(out, part{name: s[i : i+n], all: s[i:i+n] == "*"})
			i += n
			continue
		}
		end := strings.IndexByte(s[i:], ']')
		if quote := s[min(i+1, len(s)-1)]; quote == '\'' || quote == '"' {
			if end = strings.Index(s[i+1:], string(quote)+"]"); end >= 0 {
				end += 2
			}
		}
		if end < 0 {
			return nil, fmt.Errorf("column %d: the bracket is not closed", col+i+1)
		}
		p, err := parseIndex(s[i+1 : i+end])
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", col+i+2, err)
		}
		out = append(out, p)
		i += end + 1
	}
	return out, nil
}

func parseIndex(s string) (part, error) {
	if s == "*" {
		return part{all: true}, nil
	}
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') {
		return part{name: s[1 : len(s)-1]}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return part{}, fmt.Errorf("[%s]: want a number from 0, *, or a field in quotes", s)
	}
	return part{index: n, list: true}, nil
}

// lookUp returns the values at a path below v, one per line.
func lookUp(v any, name, rest string) (string, error) {
	parts, err := parsePath(name, rest)
	if err != nil {
		return "", err
	}
	found, err := follow([]any{v}, name, parts)
	if err != nil {
		return "", err
	}
	out := make([]string, 0, len(found))
	for _, v := range found {
		out = append(out, render(v))
	}
	if len(out) == 0 {
		return "nothing there", nil
	}
	return strings.Join(out, "\n"), nil
}

func follow(at []any, where string, parts []part) ([]any, error) {
	for i, p := range parts {
		var next []any
		for _, v := range at {
			found, err := p.of(v, where)
			if err != nil {
				return nil, err
			}
			next = append(next, found...)
		}
		at, where = next, where+p.String()
		if p.all && i < len(parts)-1 {
			at = slices.DeleteFunc(at, func(v any) bool { // not all have the next part
				_, err := parts[i+1].of(v, "")
				return err != nil
			})
		}
	}
	return at, nil
}

// of returns the values of a part.
func (p part) of(v any, where string) ([]any, error) {
	switch v := v.(type) {
	case map[string]any:
		if p.all {
			var out []any
			for _, k := range slices.Sorted(maps.Keys(v)) {
				out = append(out, v[k])
			}
			return out, nil
		}
		if found, ok := v[p.name]; ok && !p.list {
			return []any{found}, nil
		}
		return nil, fmt.Errorf("%s has no %s; it has %s", where, strings.TrimPrefix(p.String(), "."), strings.Join(slices.Sorted(maps.Keys(v)), ", "))
	case []any:
		switch {
		case p.all:
			return v, nil
		case p.list && p.index < len(v):
			return []any{v[p.index]}, nil
		}
		return nil, fmt.Errorf("%s is a list of %d: want [0] to [%d] or [*]", where, len(v), max(len(v)-1, 0))
	}
	return nil, fmt.Errorf("%s is %s, with nothing below it", where, render(v))
}

// String implements fmt.Stringer.
func (p part) String() string {
	switch {
	case p.list:
		return "[" + strconv.Itoa(p.index) + "]"
	case p.all:
		return "[*]"
	}
	return "." + p.name
}

func render(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	p, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(p)
}
