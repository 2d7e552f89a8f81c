// Package allocatable computes a node's capacity and allocatable: the machine's capacity minus the reservations and the
// hard eviction thresholds.
//
// It owns this computation and reads the machine's figures. It never changes anything, keeps no state, runs no
// goroutine and publishes nothing.
package allocatable
