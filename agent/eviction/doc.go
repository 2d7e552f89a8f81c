// Package eviction keeps the node from running out of memory, disk and process ids, by terminating pods.
//
// It owns the thresholds (evictionHard and evictionSoft), what the node has left of each resource, the node's pressure conditions, the
// ranking of pods, and the limits of local storage. It does not terminate pods itself (its Pods do), collects no garbage (its Reclaimer
// does) and measures nothing (its Measure and Usage do).
//
// Each round measures the node. If a resource has been below its threshold for the threshold's grace period, a round first removes
// containers and images that no pod uses. If that is not enough, it terminates the first pod of the ranking, and waits until the pod's
// resources are free. The usage of pods costs more than that of the node: a round asks for it only before it ranks pods, or if a pod has
// a limit of local storage.
//
// Run runs the rounds in its caller's goroutine: every three seconds, and as soon as the kernel reports that tasks stall for memory
// (Stalls), or that memory crossed a threshold (Crossings; cgroup v1 with kernelMemcgNotification). Crossings has a goroutine for each
// threshold. Manager publishes a Pressure per signal every ten seconds, a Decision by pressure when a verdict on a signal changes, an Eviction for each round that
// acted, a Decision by eviction for each pod that is evicted, and a Log when a signal can no longer be measured.
//
// Upstream: pkg/kubelet/eviction.
package eviction
