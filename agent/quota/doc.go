// Package quota has the kernel count what is in a directory, by a project quota of the directory's file system.
//
// It owns the choice of project ids and the mark on the directory. It keeps no state of its own: the directory has its id, and the file
// system knows which ids are in use, so both survive restarts of the agent, and a directory that is removed releases its id. It sets no
// limits, writes neither /etc/projects nor /etc/projid (people write these, and each volume would rewrite a file that other programs
// edit too), and runs no goroutine. It publishes a Log when a directory could not get an id.
//
// Only directories of pods with users of their own are counted: root in the node's user namespace may give files another project, and so
// hide them.
//
// Upstream: pkg/volume/util/fsquota, KEP-1029. Kernel: quotactl(2), Q_GETQUOTA with PRJQUOTA; ioctl_fs FS_IOC_FSSETXATTR.
package quota
