// Package hungfs is a file system that stops answering, as one over the network does when its server is away: an empty directory, served by
// this process over /dev/fuse, until it hangs, or in which a change of an owner takes long. Who asks it then waits in the kernel, and can only be killed, as with NFS.
//
// It owns the mount, and runs a goroutine that serves it. This process must not look at the mount itself while it hangs. When this process
// ends, however it does, the kernel fails all who wait.
package hungfs
