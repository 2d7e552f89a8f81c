// Package pressure tells how full the node's memory and file systems are.
//
// It owns no figure: it reads /proc/meminfo and asks the file systems, a few system
// calls each time. It never acts on what it finds (agent/gc does, and eviction will)
// and keeps no history.
//
// It runs no goroutine but its caller's, in Run. It publishes one Pressure per signal
// every ten seconds, and one Log when a signal stops being measurable.
package pressure
