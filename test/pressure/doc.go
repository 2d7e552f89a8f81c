// Package pressure has tests make tasks of the machine stall: for a disk, or for memory within a limit of their own. What it uses is bounded, and
// ends with the test.
package pressure
