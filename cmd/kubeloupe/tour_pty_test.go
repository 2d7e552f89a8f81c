//go:build unix

package main

import (
	"strings"
	"testing"
)

// TestTourByHand goes through the tour at a terminal: Enter continues, b goes back, q leaves, in the step chapter too.
func TestTourByHand(t *testing.T) {
	x := inTerminal(t, "tour", "--chapter", "3")
	x.sees("Press Enter to continue, b to go back, q to quit: ")
	x.types("\n")
	x.sees("3 of 8  Step a pod")
	x.sees("More: Enter. ")
	x.types("\n")
	x.sees("Press Enter to type 'until sandbox', b to go back, q to quit: ")
	x.types("\n")
	x.sees("paused before  sandbox")
	x.sees("Press Enter to type 'p', b to go back, q to quit: ")
	x.types("b\n")
	x.sees("On: Enter. Back: b. Quit: q. ")
	x.types("q\n")
	x.sees("The tour's pods and files are removed.")
	if err := x.cmd.Wait(); err != nil || strings.Contains(x.said(), "\x1b") {
		t.Errorf("%v, or escapes in it:\n%q", err, x.said())
	}
}
