// Package gc removes what pods leave behind: dead containers and sandboxes, the log
// directories and log links of pods that are gone, and images that nobody uses while
// their file system is too full.
//
// It owns the two policies, the record of when each image was first seen and last
// used, and the order of removal. What to do is decided by pure functions
// (PlanContainers, PlanLinks, PlanImages); collecting applies them. It never touches
// a running container, an image in use or pinned, anything of a pod whose deletion is
// not certain, nor containers that no kubelet made.
//
// Run runs two goroutines, one per kind of pass; the Collect methods run in their
// caller's. Passes of one kind never overlap.
//
// It publishes GC begin and end for each pass, below it a Decision for each candidate
// (kept or removed, why, bytes), and NodeEvent for the failures that Kubernetes has a
// reason for.
package gc
