package criconfig

import (
	"fmt"
	"strings"
)

// envFile is an environment file, which a container may have written. It is parsed only as far as needed, and once.
// Each line is blank, a # comment, or NAME='value', where the value is literal and may span lines.
//
// Upstream: pkg/kubelet/util/env/env_util.go, ParseEnv, which reads it again for each name.
type envFile struct {
	rest   string
	line   int // line number of the start of rest, less one
	values map[string]string
	err    error // the error after the valid values
}

func newEnvFile(text string) *envFile { return &envFile{rest: text, values: map[string]string{}} }

// value returns the first variable of that name; "" if there is none. Errors after it are ignored.
func (f *envFile) value(key string) (string, error) {
	for {
		if value, ok := f.values[key]; ok {
			return value, nil
		}
		if f.rest == "" || f.err != nil {
			return "", f.err
		}
		var name, value string
		if name, value, f.err = f.next(); f.err == nil && name != "" {
			if _, have := f.values[name]; !have {
				f.values[name] = value
			}
		}
	}
}

// next reads the next variable, whose value may span lines. name is "" if there is none.
func (f *envFile) next() (name, value string, err error) {
	f.line++
	this, rest, _ := strings.Cut(f.rest, "\n")
	this = strings.TrimLeft(strings.TrimSuffix(this, "\r"), " \t")
	if this == "" || this[0] == '#' {
		f.rest = rest
		return "", "", nil
	}
	name, value, ok := strings.Cut(this, "=")
	if !ok || name == "" || name != strings.TrimRight(name, " \t") {
		return "", "", fmt.Errorf("line %d: want NAME='value', no space before =", f.line)
	}
	if value == "" || (value[0] != '\'' && value[0] != ' ' && value[0] != '\t') {
		return "", "", fmt.Errorf("line %d: the value must be in single quotes", f.line)
	}
	if value[0] != '\'' {
		f.rest = rest
		return name, "", nil // as a shell reads NAME= 'x': the value of NAME is empty
	}
	return f.quoted(name)
}

// quoted reads a quoted value.
func (f *envFile) quoted(name string) (string, string, error) {
	_, text, _ := strings.Cut(f.rest, "='") // a name contains no =
	value, text, closed := strings.Cut(text, "'")
	if !closed {
		return "", "", fmt.Errorf("line %d: the quote is never closed", f.line)
	}
	start := f.line
	f.line += strings.Count(value, "\n")
	this, rest, _ := strings.Cut(text, "\n")
	if this = strings.TrimLeft(strings.TrimSuffix(this, "\r"), " \t"); this != "" && this[0] != '#' {
		return "", "", fmt.Errorf("line %d: only a comment may follow the closing quote", start)
	}
	f.rest = rest
	return name, strings.ReplaceAll(value, "\r\n", "\n"), nil
}
