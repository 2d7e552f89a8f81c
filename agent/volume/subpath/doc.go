// Package subpath creates the paths on the node for the subPath mounts of containers.
//
// It owns ROOT/pods/UID/volume-subpaths/VOLUME/CONTAINER/INDEX, one bind mount each, in upstream's layout. Pods can write to
// volumes, so the package does not trust their content: the kernel resolves a path beneath the volume, links that lead out of it
// but not back are rejected, and the result is mounted through its file descriptor, so that nothing can be replaced between the check and the
// mount. Missing directories are created with the volume's mode. It removes only its own mounts and empty directories, never their
// content.
//
// It runs no goroutine. Errors for users are general, because details would reveal what is on the node; the cause is published as a
// Log.
//
// Upstream: pkg/volume/util/subpath.
package subpath
