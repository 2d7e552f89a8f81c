// Package containerdprogress measures the progress of containerd's pulls.
//
// The CRI does not have it. containerd's content service, on the same socket, lists the blobs that are being written; the image's
// manifest, which arrives before its layers, has their sizes. Layers that were on the node before are not counted.
//
// It never writes and never guesses (no manifest, no figures), and it stops immediately if the runtime has no such service. It runs
// no goroutine; Follow runs in its caller's during a pull. It publishes nothing.
package containerdprogress
