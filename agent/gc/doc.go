// Package gc removes the remains of pods: dead containers and sandboxes, the log directories and log links of deleted
// pods, and unused images while their file system is too full.
//
// It owns the two policies, the record of when each image was first seen and last used, and the order of removal. Pure
// functions make the plans (PlanContainers, PlanLinks, PlanImages); Collect executes them. It never removes a running
// container, an image in use or pinned, anything of a pod whose deletion is not certain, or containers that no kubelet
// created.
//
// Run runs two goroutines, one per kind; the Collect methods run in their caller's. Runs of one kind never overlap.
//
// It publishes GC begin and end for each run, below it a Decision for each candidate (kept or removed, reason, bytes),
// NodeEvent for failures with a Kubernetes reason, and Log if images cannot be watched where no run does it.
package gc
