// Package kernel watches what the kernel shows of the pods of a kubelet that is not ours: pressure of the node, runs of CNI plugins and of
// credential providers, what CPU limits do, kills for want of memory, mounts of volumes, and directories and mounts of pods that nobody knows.
//
// It owns which of these are read here and how often, and what they mean as records. It only reads: /proc, cgroups, and names below the
// kubelet's root directory; it writes nothing, opens no device and attaches to no process. Of a CNI plugin's environment it takes the
// variables of the CNI specification, of a credential provider's nothing. What it cannot do here it says once, by Say, and leaves out.
//
// Run has a goroutine for each source. It publishes nothing itself: Put gets the records, from one goroutine at a time.
package kernel
