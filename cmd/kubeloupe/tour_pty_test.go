//go:build unix

package main

import (
	"strings"
	"testing"
)

// TestTourByHand goes through the tour at a terminal: Enter goes on, q leaves, in the step chapter too.
func TestTourByHand(t *testing.T) {
	x := inTerminal(t, "tour", "--chapter", "3")
	x.sees("Enter goes on, q leaves: ")
	x.types("\n")
	x.sees("3 of 8  Step a pod")
	x.sees("Enter types 'until sandbox', q leaves: ")
	x.types("\n")
	x.sees("paused before  sandbox")
	x.sees("Enter types 'p', q leaves: ")
	x.types("q\n")
	x.sees("Its pods and files are gone.")
	if err := x.cmd.Wait(); err != nil || strings.Contains(x.said(), "\x1b") {
		t.Errorf("%v, or escapes in it:\n%q", err, x.said())
	}
}
