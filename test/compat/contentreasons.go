package main

import "regexp"

// contentReason says why facts differ: those of the documents and paths that match.
type contentReason struct {
	document, path *regexp.Regexp
	why            string
	// rare reasons are about a moment: a run may be without the difference.
	rare bool
}

func (w contentReason) fits(c change) bool {
	return w.document.MatchString(c.document) && w.path.MatchString(c.path)
}

// because makes a reason. Both patterns match as a whole.
func because(document, path, why string) contentReason {
	return contentReason{document: regexp.MustCompile("^(" + document + ")$"), path: regexp.MustCompile("^(" + path + ")$"), why: why}
}

// sometimes makes a rare reason.
func sometimes(document, path, why string) contentReason {
	r := because(document, path, why)
	r.rare = true
	return r
}

const (
	podList = `/pods|pods API ListPods`
	summary = `/stats/summary.*`
)

// contentReasons say why contents are not upstream's. The first that fits is the one; each must fit somewhere.
var contentReasons = []contentReason{
	because(podList, `items\[.*\]\.metadata\.managedFields`, "kubeloupe does not keep managedFields of pods: nothing on the node reads them, and they are half of a pod's size."),
	because(podList, `items\[.*\]\.status\.resources(\.limits\.memory)?`, "On cgroup v1, upstream gives pods without a memory limit the kernel's largest number as their limit."),
	sometimes(podList+`|/containerLogs/.*`, `items\[missing\]\.status\.containerStatuses\[main\]\.state\.waiting\..*|line 1`, "After each failed pull, the reason is ErrImagePull until the next sync: 2 s with kubeloupe, up to 15 s with upstream, which reads an older status in its pods API. The lists were read at some moment."),
	sometimes(podList, `items\[crash\]\.status\.containerStatuses\[main\]\.state\..*`, "Upstream shows the exit of the container until its next sync, in one of the lists or in both. kubeloupe shows the back-off at once."),
	because(`pods API ListPods`, `items\[.*\]\.status\.resourceClaimStatuses\[.*`, "kubeloupe's pods API has the same status as /pods. Upstream's lacks what other components write."),
	sometimes(summary, `node\.systemContainers\[pods\]\.cpu\.usageNanoCores`, "kubeloupe measures on demand: the first request after the start has no rate."),
	because(`/runningpods/`, `items\[.*\]\.image`, "kubeloupe has the image's name from the pod; upstream has the runtime's ID of the image."),
	because(`/flagz as JSON`, `flags\..*`, "kubeloupe has flags of its own, which upstream does not have. The defaults of the others are those of a configuration file; upstream's are the older ones of its command line, which a file replaces."),

	because(summary, `(node|pods)\b.*\.psi\..*|(node|pods)\b.*\.io\.time`, "On cgroup v1, the kernel has the pressure (PSI) of the node only. Upstream has zeros for the pods; kubeloupe omits what is not known."),
	because(summary, `node\.systemContainers\[kubelet\]\..*`, "kubeloupe reports its own usage, also if the configuration names no cgroup for it. Upstream does so only with kubeletCgroups."),
	sometimes(summary, `node\.network\..*`, "The lab has a network namespace of its own: kubeloupe reads the interfaces there, and the default one from the routes. Upstream reads them from /sys, which is another namespace's here, and expects eth0."),
	because(summary, `pods\[(crash|missing)\]\..*`, "kubeloupe reports all pods that have a sandbox. Upstream omits pods of which no container runs."),

	because(`/metrics/resource`, `pod_.* of NS/(crash|missing)`, "kubeloupe reports all pods that have a sandbox. Upstream omits pods of which no container runs."),
	because(`/metrics/cadvisor`, `container_fs_(usage|limit)_bytes of NS/.*`, "kubeloupe has the size of containers' writable layers, which the runtime reports. cAdvisor does not measure it with containerd."),
	because(`/metrics/cadvisor`, `container_pressure_.*`, "kubeloupe has the node's pressure (PSI). Upstream has none on cgroup v1."),
	because(`/metrics/cadvisor`, `container_(fs_(reads|writes)_bytes|blkio_device_usage)_total.*`, "kubeloupe has the bytes of the node's disks from /proc/diskstats. Upstream reads them from cgroups only, and there are none there on this machine."),
	because(`/metrics/cadvisor`, `container_memory_pgs(can|teal)_total.*`, "On cgroup v1, the kernel does not count these by cgroup, and upstream has zeros. kubeloupe has them on cgroup v2."),
	because(`/metrics/cadvisor`, `container_health_state.*`, "This is the result of a health check of Docker, which containers of Kubernetes do not have: upstream has zeros."),
	because(`/metrics/cadvisor`, `machine_(cpu_books|cpu_drawers|nvm_.*)`, "These are about hardware of IBM Z and persistent memory."),
	because(`/metrics/cadvisor`, `cadvisor_version_info`, "kubeloupe has no cAdvisor."),

	because(`/metrics/probes`, `prober_probe_.*`, "kubeloupe counts probes by type and result. Upstream also has the container, the pod and the namespace, so that the number of series grows with the pods."),
	because(`/metrics/slis`, `kubernetes_healthcheck.*`, "kubeloupe has its health checks as metrics. Upstream's kubelet registers none."),

	because(`/metrics`, `kubeloupe_.*`, "These are kubeloupe's own metrics: see fleet.md."),
	sometimes(`/metrics`, `kubelet_metrics_provider`, "Upstream's server sets this value when it starts, and loses it if the metric is not registered yet."),
	because(`/metrics`, `prober_.*`, "kubeloupe has the metrics of /metrics/probes on this page, too."),
	because(`/metrics`, `(aggregator|apiserver|cardinality_enforcement|disabled_metrics|hidden_metrics|registered_metrics)_.*`, "Libraries of the API server register these, which upstream links; they have no meaning on a node."),
	because(`/metrics`, `workqueue_.*`, "kubeloupe has no work queues of client-go."),
	because(`/metrics`, `rest_client_transport_.*`, "kubeloupe makes the connections to the API server itself, without client-go's cache of transports."),
	because(`/metrics`, `force_cleaned_failed_volume_.*`, "Upstream unmounts volumes by force whose state it cannot reconstruct after a restart. kubeloupe adopts them, or removes them with the directory of their pod."),
	because(`/metrics`, `kubelet_pleg_discard_events`, "Upstream drops events that the syncLoop is too slow to take. kubeloupe's PLEG waits."),
	because(`/metrics`, `kubelet_imagemanager_inmemory_.*`, "The records that kubeloupe keeps in memory have no capacity that they could use up: they are as many as images."),
	because(`/metrics`, `kubelet_pod_watch_events_dropped_total`, "kubeloupe's watches of the pods API keep which pods have changed, not a queue of events that could be full."),
	because(`/metrics`, `.* of operation_type=.*|kubelet_memory_manager.* of .*`, "kubeloupe calls the runtime for other reasons: it receives events, reads statistics on demand, and counts syncs and operations of cgroups by its own kinds."),
	because(`/metrics`, `kubelet_device_plugin_registration_total of resource_name=.*`, "kubeloupe also counts plugins that register in plugins_registry."),
}
