package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// json are the facts of a JSON document: the value of each path. Items of a list are named by what identifies them, so that the order of the list
// does not count. In figures, only the kind of a number counts.
func (s spoken) json(body []byte, figures bool) (facts, error) {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, err
	}
	out := facts{}
	s.walk(out, "", v, figures)
	return out, nil
}

func (s spoken) walk(out facts, path string, v any, figures bool) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			out.add(path, "{}")
		}
		for k, one := range v {
			switch k {
			case "managedFields": // what of them there is does not matter
				one = "present"
			case "restartCount":
				if one != 0.0 {
					one = "SOME"
				}
			case "resourceVersion":
				one = "VERSION"
			}
			p := s.text(k)
			if path != "" {
				p = path + "." + p
			}
			s.walk(out, p, one, figures)
		}
	case []any:
		s.list(out, path, v, figures)
	case string:
		out.add(path, fmt.Sprintf("%q", s.text(v)))
	case float64:
		if figures {
			out.add(path, "number")
			return
		}
		out.add(path, fmt.Sprint(v))
	default: // true, false and null
		out.add(path, fmt.Sprint(v))
	}
}

// list adds the items of a list: those that are values as one fact, the others by name.
func (s spoken) list(out facts, path string, items []any, figures bool) {
	var values []string
	seen := map[string]int{}
	slices.SortStableFunc(items, func(a, b any) int { return strings.Compare(s.sortKey(a), s.sortKey(b)) })
	for i, one := range items {
		object, ok := one.(map[string]any)
		if !ok {
			values = append(values, s.text(fmt.Sprint(one)))
			continue
		}
		name := s.text(itemName(object))
		if name == "" {
			name = fmt.Sprint(i)
		}
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s #%d", name, seen[name])
		}
		s.walk(out, path+"["+name+"]", object, figures)
	}
	if len(values) > 0 || len(items) == 0 {
		out.add(path, "["+strings.Join(values, " ")+"]")
	}
}

// sortKey is what orders the items of a list that are objects.
func (s spoken) sortKey(item any) string {
	if _, ok := item.(map[string]any); !ok {
		return ""
	}
	text, err := json.Marshal(item)
	if err != nil {
		return ""
	}
	return s.text(string(text))
}

// itemName is what identifies an item of a list.
func itemName(item map[string]any) string {
	for _, key := range []string{"metadata", "podRef"} {
		if of, ok := item[key].(map[string]any); ok {
			item = of
		}
	}
	for _, key := range []string{"name", "type", "resourceName", "claimName", "mountPath", "key", "ip"} {
		if v, ok := item[key].(string); ok && v != "" {
			return v
		}
	}
	return ""
}
