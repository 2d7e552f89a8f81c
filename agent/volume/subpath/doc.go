// Package subpath makes the paths on the node that containers' subPath mounts show.
//
// It owns ROOT/pods/UID/volume-subpaths/VOLUME/CONTAINER/INDEX, one bind mount each, in upstream's
// layout. What a pod can write may be a trap: a path is resolved by the kernel beneath the
// volume, links that lead out of it are refused, and what was resolved is mounted through its file
// descriptor, so that nothing can be exchanged between the check and the mount. Missing
// directories are made with the volume's mode. It removes only mounts and empty directories of its
// own, never what they show.
//
// It runs no goroutine, and publishes a Log with the cause of what users are only told in general:
// details would say what is on the node.
//
// Upstream: pkg/volume/util/subpath.
package subpath
