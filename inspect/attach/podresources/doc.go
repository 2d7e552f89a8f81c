// Package podresources asks a kubelet that is not ours which CPUs, memory, devices and claims its containers have, through its podresources API:
// a local gRPC socket that can only be polled.
//
// It owns how often it asks, and what follows from one answer and the next: a typed record for each change. An answer says what containers have,
// not since when, nor how it was chosen: a record has the time of the answer, and the time since the last one as its precision. The kubelet
// writes what is read, with names of pods, of device plugins and of DRA drivers; a pod with the socket's directory as a hostPath could, too.
// Answers, numbers and names are bounded here. It changes nothing, runs no goroutine and publishes nothing.
//
// Upstream: pkg/kubelet/apis/podresources.
package podresources
