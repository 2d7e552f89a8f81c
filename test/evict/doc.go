// Command evict lets pods use up a node's memory, disk, inodes or process ids, under kubeloupe and under upstream's kubelet, and compares
// which pods they evict, in which order, and how soon.
//
// It needs root: the disk is a file system on a loop device, so that the machine's own is not filled. The memory is that of all
// pods together (allocatableMemory.available); the process ids are the machine's, with a threshold that the pods of the test reach. The cluster of test/lab is in
// a directory of its own. It prints a table, and exits with 1 if the agents do not evict the same pods in the same order.
//
// make evict
package main
