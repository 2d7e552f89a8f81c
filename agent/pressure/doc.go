// Package pressure measures the usage of the node's memory and file systems.
//
// It owns no figure: it reads /proc/meminfo and asks the file systems, a few system calls each time. It never acts on the figures
// (agent/gc does) and keeps no history.
//
// It runs no goroutine but its caller's, in Run. It publishes one Pressure per signal
// every ten seconds, and one Log when a signal stops being measurable.
package pressure
