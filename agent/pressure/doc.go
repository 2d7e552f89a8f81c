// Package pressure measures the usage of the node's memory and file systems.
//
// It reads /proc/meminfo and the file systems' usage, with a few system calls each time. It never acts on the figures
// (agent/gc does) and keeps no history.
//
// It runs no goroutine: Run uses its caller's. It publishes one Pressure per signal every ten seconds, and one Log when
// a signal can no longer be measured.
package pressure
