package criconfig

import (
	"fmt"
	"strings"
)

// envFileValue returns a variable of an environment file, "" when it is not there. Each line is
// blank, a # comment, or NAME='value', where the value is literal and may span lines.
//
// Upstream: pkg/kubelet/util/env/env_util.go, ParseEnv.
func envFileValue(text, key string) (string, error) {
	for line := 1; text != ""; {
		var this string
		this, text, _ = strings.Cut(text, "\n")
		start := line
		line++
		this = strings.TrimLeft(strings.TrimSuffix(this, "\r"), " \t")
		if this == "" || this[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(this, "=")
		if !ok || name == "" || name != strings.TrimRight(name, " \t") {
			return "", fmt.Errorf("line %d: want NAME='value', no space before =", start)
		}
		if value == "" || (value[0] != '\'' && value[0] != ' ' && value[0] != '\t') {
			return "", fmt.Errorf("line %d: the value must be in single quotes", start)
		}
		if value[0] != '\'' {
			// As a shell reads NAME= 'x': NAME is empty.
			if name == key {
				return "", nil
			}
			continue
		}
		value = value[1:]
		for !strings.Contains(value, "'") {
			if text == "" {
				return "", fmt.Errorf("line %d: the quote is never closed", start)
			}
			this, text, _ = strings.Cut(text, "\n")
			value += "\n" + strings.TrimSuffix(this, "\r")
			line++
		}
		value, rest, _ := strings.Cut(value, "'")
		if rest = strings.TrimLeft(rest, " \t"); rest != "" && rest[0] != '#' {
			return "", fmt.Errorf("line %d: only a comment may follow the closing quote", start)
		}
		if name == key {
			return value, nil
		}
	}
	return "", nil
}
