// Package scsi has the volume plugins kubernetes.io/iscsi and kubernetes.io/fc: disks (LUNs) of a storage network.
//
// It owns the global mount and map directories of the two plugins, in upstream's layout, with the file iscsi.json in them, so that either
// agent can detach what the other has attached; the sessions of iSCSI targets, from the login for the first volume to the logout after the
// last one; and the removal of the disks' devices from the node. Both plugins share everything, except how a disk is named, attached and
// detached (the interface kind).
//
// It never removes data, nor the device of a disk that is mounted, held by a device mapper, or in another global directory. A directory is
// removed only if it is empty. Names from volume sources, which become parts of paths and arguments of programs, are checked before use
// (names.go). Secrets of CHAP are arguments of iscsiadm, as with upstream, so other programs of the node can see them in /proc while it
// runs; they are in no event and no error, and what iscsiadm prints about them is not quoted.
//
// It runs no goroutine, except those of package program during a call. It publishes a CSICall around each run of a program, a Wait of kind
// attach while a volume is not attached, and while a disk's device does not exist, and one of kind lock while another operation on the same
// disk or target is in progress. The manager publishes the operations.
//
// Upstream: pkg/volume/iscsi, pkg/volume/fc, pkg/volume/util/device_util_linux.go.
package scsi
