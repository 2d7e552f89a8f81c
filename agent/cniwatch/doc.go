// Package cniwatch notices that the network's configuration changes, so that the runtime is asked at once whether it has a network. Else
// a node that loses it would be ready for half a minute more.
//
// It owns the watch on the directory of CNI configurations that the runtime names (containerd does, in its verbose status; with one that
// does not, nothing is watched and the runtime is asked from time to time all the same). The directory may come later, go, or be
// exchanged for another. It never reads what is in it: the runtime does, and says what it thinks of it.
//
// Run is one goroutine, with one more that waits for inotify. It publishes nothing: what is learned is runtimestate's to tell.
package cniwatch
