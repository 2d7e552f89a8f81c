// Package podstatus computes the status of a pod (phase, conditions and container states) from its spec, the runtime's report and
// further data of the agent.
//
// It is pure: it never calls the runtime, keeps no state (the previous status is an input), runs no goroutine and publishes no
// event. The last status that upstream's kubelet or kubeloupe wrote is a valid previous status for the other.
package podstatus
