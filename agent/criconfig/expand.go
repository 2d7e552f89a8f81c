package criconfig

import "strings"

// expand replaces each $(NAME) by lookup's value. $$ is a literal dollar sign, so that $$(NAME)
// stays $(NAME). A name that lookup does not know, and a $ before anything else, stay as written.
//
// Upstream: third_party/forked/golang/expansion/expand.go, Expand.
func expand(text string, lookup func(name string) (string, bool)) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		switch name, after, closed := strings.Cut(rest, ")"); {
		case !found:
			return b.String()
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "(") && closed:
			if value, ok := lookup(name[1:]); ok {
				b.WriteString(value)
			} else {
				b.WriteString("$" + name + ")")
			}
			text = after
		default:
			b.WriteByte('$')
			text = rest
		}
	}
}

func expandAll(list []string, lookup func(string) (string, bool)) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = expand(text, lookup)
	}
	return out
}
