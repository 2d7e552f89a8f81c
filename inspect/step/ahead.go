package step

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// moving are the commands that let the paused action go.
var moving = []string{"next", "step", "continue", "until", "retry", "fail", "delay"}

// Moves reports whether a command line lets the paused action go.
func Moves(line string) bool {
	name, _ := Split(line)
	return slices.Contains(moving, name)
}

// MostAhead is how many commands an Ahead keeps.
const MostAhead = 32

// Ahead keeps the commands that are typed while an action runs, in their order. The zero value is empty. Not safe for
// concurrent use.
type Ahead struct{ lines []string }

// Keep reports whether a command waits, and keeps it then: while an action runs, a command that lets the next one go waits, and
// each command waits behind others. quit never waits. If too many wait, the command is dropped, with an error.
func (a *Ahead) Keep(line string, runs bool) (waits bool, err error) {
	name, _ := Split(line)
	switch {
	case name == "quit", len(a.lines) == 0 && !(runs && Moves(line)):
		return false, nil
	case len(a.lines) >= MostAhead:
		return true, fmt.Errorf("%d commands wait for the action to end: no more are kept", MostAhead)
	}
	a.lines = append(a.lines, line)
	return true, nil
}

// Next removes and returns the first command.
func (a *Ahead) Next() (line string, ok bool) {
	if len(a.lines) == 0 {
		return "", false
	}
	line, a.lines = a.lines[0], a.lines[1:]
	return line, true
}

// Waits reports whether a command waits.
func (a *Ahead) Waits() bool { return len(a.lines) > 0 }

// Drop removes all commands: those behind a failure were typed for an action that works. It says which; "" for none.
func (a *Ahead) Drop() string {
	if len(a.lines) == 0 {
		return ""
	}
	text := "dropped, because it was typed ahead: " + a.String()
	a.lines = nil
	return text
}

// String returns the commands in their order.
func (a *Ahead) String() string {
	var out []string
	for _, line := range a.lines {
		out = append(out, cmp.Or(strings.TrimSpace(line), "n"))
	}
	return strings.Join(out, ", ")
}
