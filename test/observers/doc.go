// Package observers compares what observers of upstream's kubelet tell of pods with what a proxy between the kubelet and containerd saw
// at the same time: how much of a start is unexplained, how far the begin and the end of each phase lie from those of the call, and whose
// pod each record names.
//
// It owns the comparison, which is pure, and a test that has pods start in the lab's cluster (make attach-table). It publishes nothing.
package observers
