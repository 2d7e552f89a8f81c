// Package rank puts all starts of a session in order, the slowest first, and sums them up.
//
// It owns the ranking, percentiles overall and by phase, groups by image or namespace, and their text, JSON and CSV. Percentiles
// include finished starts only, by the nearest rank. It reads no clock, runs no goroutine and publishes nothing.
package rank
