// Package kubeletlog makes records of the entries of a kubelet's log.
//
// It owns the table from messages with their keys to events (table.go), the pairing of begins with ends for each pod, container and volume,
// and the forms that kubelets before Kubernetes 1.21 wrote (old.go). Entries are matched by message, never by source line. What the table
// does not know becomes a Log record, for the Log view. Nothing is guessed: time that no line explains stays unexplained, and what is
// missing in the log ends no span. Every record says that it was seen in a kubelet's log, and how precisely.
//
// Anybody may have written a log: pods, volumes and records that are kept are bounded. It runs no goroutine.
package kubeletlog
