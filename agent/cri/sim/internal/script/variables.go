package script

import (
	"errors"
	"maps"
	"strings"
)

// maxVariables limits how much a script adds to its variables, in bytes.
const maxVariables = 256 << 10

// variables are a shell's variables. What the script adds to the environment's is limited.
type variables struct {
	values map[string]string
	added  int // bytes
}

func newVariables(env []string) *variables {
	v := &variables{values: map[string]string{}}
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			v.values[name] = value
		}
	}
	return v
}

func (v *variables) set(name, value string) error {
	old, had := v.values[name]
	more := len(value) - len(old)
	if !had {
		more += len(name)
	}
	if more > 0 && v.added+more > maxVariables {
		return errors.New("out of memory for variables")
	}
	v.added += more
	v.values[name] = value
	return nil
}

func (v *variables) clone() *variables {
	return &variables{values: maps.Clone(v.values), added: v.added}
}
