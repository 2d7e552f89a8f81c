// Command bench compares agents with the floor that the container runtime sets.
//
// In a cluster, it measures upstream's kubelet and kubeloupe as the same node of the same cluster, on
// the same containerd. They take turns, in rounds (A B, B A, ...): an agent ends pods that it does
// not know, so two cannot share a runtime, and one that idles next to the other would be felt. The
// floor is direct CRI calls on a twin of the lab; each sample of an agent comes with one of the floor,
// so that the machine's drift hits all alike. Pods are bound to the node by whoever makes them: the
// scheduler is not measured.
//
// All are timed by the runtime's own event stream, from the cause (the API's call, the first CRI
// call) to the event (the last container started, the sandbox deleted); what the API shows is timed
// by a watch.
//
//	make bench                  all rows
//	go run ./test/bench -rows one,burst30 -n 20
//
// With -standalone, the agent works without a cluster, from manifests. Some rows of that compare one agent process with
// itself: looked at (a UI on a terminal that nobody reads, such clients attached, a recording) and not, toggled
// between pods, in pairs. Their ratio has a 95 % interval, and a reach is "shown" only if all of that is within it.
package main
