// Package cniwatch detects changes of the CNI configuration, so that the runtime's network state is checked
// immediately. Otherwise a node that loses its network would remain ready for up to half a minute.
//
// It owns the watch on the directory of CNI configurations that the runtime reports (containerd does, in its verbose
// status; without it, nothing is watched, and only the periodic checks remain). The directory may be created later,
// removed, or replaced. It never reads the files: the runtime does, and reports the result.
//
// Run is one goroutine, with one more that waits for inotify. It publishes nothing: runtimestate does.
package cniwatch
