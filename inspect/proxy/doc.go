// Package proxy is a relay between a kubelet and its container runtime, which observes each call and can hold those of one pod.
//
// It owns the socket that the kubelet dials, and one connection to the runtime. It relays gRPC frames as bytes: all methods, known or not,
// unary and streams, with metadata, deadlines, cancellation, statuses and trailers. It adds a traceparent where the kubelet sent none, and
// changes nothing else. A call whose deadline has passed is never forwarded. What is known of a call is decoded from a copy.
//
// What it cannot see stays unknown: the pod's spec, its volumes, its probes that are no exec, its status in the API.
//
// Who may connect is decided by the socket's rights: it is in a directory of root's alone. The kubelet and the runtime are trusted; what a
// container prints (ExecSync) is not, and of that one answer is taken at a time.
//
// It runs a goroutine per call, as gRPC does, one per stream that both sides send on, and a timer per pod that starts or ends. It publishes
// CRICall for each call of the CRI, and what that means for a pod: Milestone and Action.
package proxy
