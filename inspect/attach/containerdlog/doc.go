// Package containerdlog makes records of the log of the container runtime, containerd or CRI-O.
//
// At their usual level these write down the begin and the end of each call that changes something: sandboxes, containers, images. The
// package owns their messages (containerd.go, crio.go), the pairing of begins with ends, and which container and sandbox belongs to which
// pod. CRI-O tells less than containerd at that level: not why a call failed, of a pull not even that it failed, and not that a container exited.
// It tells more of the network: when each CNI plugin began and ended. Each record says that it was seen in the runtime's log. Nothing is guessed: a call whose begin or end is not in the log is not
// told of, and an image's pull, which names no pod, is a pod's only where no other can have asked for it.
//
// Anybody may have written a log: lines, fields, pods, containers and records that are kept are bounded, and what acts on terminals is
// written out. It runs no goroutine.
package containerdlog
