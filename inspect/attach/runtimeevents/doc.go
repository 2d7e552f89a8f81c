// Package runtimeevents watches containerd by its events, as an observer beside its log.
//
// It owns what containerd's events mean: that a container's process exited, that the kernel killed one because memory was short, the parts
// of the calls that make tasks, and which layers of an image have arrived and are unpacked. Records have the times of containerd and of its
// shims. It reads nothing but this stream (never GetContainerEvents, which can block containerd), the labels of containers that are made,
// and once, when it connects, the list of those that are there.
//
// What is told by events alone is told as such: a part of a call names the call's container, and package merge knows the call. After a
// break of the connection it says from when to when it saw nothing, and whether containerd was restarted.
//
// Events come from containerd and its shims, which are root's. They hold ids that containerd made, and digests and labels that images and
// pods brought: what is kept of them is bounded in number and length. Run has one goroutine beside its caller's, which always reads, since containerd
// keeps without limit what a subscriber does not read.
package runtimeevents
