package lookup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// NotFoundError is the error for a name that does not exist.
type NotFoundError struct {
	// What is the kind of thing, such as "pod", and Name the name that was given.
	What, Name string
	// In is where it was searched, such as "pod shop/web" for a container; "" means everywhere.
	In string
	// Near are the existing names that may be meant.
	Near []string
	// Known are all existing names, if they are few enough for a message.
	Known []string
	// Others is the number of existing names, if they are too many for Known.
	Others int
}

// Error implements error.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("%s %q not found", e.What, e.Name)
	if e.In != "" {
		text += " in " + e.In
	}
	if len(e.Near) > 0 {
		text += " (did you mean " + either(e.Near) + "?)"
	}
	switch {
	case len(e.Known) > 0:
		text += ": must be one of " + strings.Join(e.Known, ", ")
	case len(e.Near) > 0:
	case e.Others > 0:
		text += fmt.Sprintf(": none of the %d known %ss has a similar name", e.Others, e.What)
	default:
		text += fmt.Sprintf(": no %ss are known", e.What)
	}
	return text
}

// either is "a, b or c".
func either(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Check returns a NotFoundError if name is not one of known, all of which the error lists.
func Check(what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	e := &NotFoundError{What: what, Name: name, Known: known}
	if near := human.Nearest(name, known); near != "" {
		e.Near = []string{near}
	}
	return e
}
