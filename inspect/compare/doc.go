// Package compare compares two starts, phase by phase.
//
// It owns the matching of phases, the differences and their text, JSON and Markdown. The parts of the critical path add up to the
// whole start on both sides, so their differences add up to the whole difference; the times of the phases do not, because phases
// overlap. A phase that is missing on one side is missing, not zero. It reads no clock, runs no goroutine and publishes nothing.
package compare
