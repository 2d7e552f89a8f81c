// Package allocatable says what a node has for pods: the machine's capacity, and of it what is left when the reservations and
// the hard eviction thresholds are taken off.
//
// It owns this arithmetic and the reading of the machine's figures. It never changes anything, keeps no state, runs no goroutine
// and publishes nothing.
package allocatable
