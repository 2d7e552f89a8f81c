// Package metrics computes Prometheus metrics from records, with the kubelet's names, labels and buckets, so that dashboards and
// alerts for the kubelet work.
//
// It owns the collectors and the state per pod that they need (at most 4096 pods). Apply is for one goroutine; scraping can happen
// at the same time, and Start can be called by another goroutine. It starts no goroutine and publishes nothing.
//
// Start applies what inspect/ship has found out about a pod's start: phases, waits and causes, as native histograms and counters with the
// trace of its spans as exemplar. No label has the name of a pod.
//
// A metric exists only if its data is in the records; those that are read on request from the agent's parts are in Agent.Measured.
//
// Where ours differ from upstream's: kubelet_running_pods and kubelet_running_containers follow pod statuses instead of relists, so they are
// current without one and count only each container's last attempt; a pull that served several pods is observed once in
// kubelet_image_pull_duration_seconds, from its turn on (queueing is in kubeloupe_wait_seconds_total); prober_probe_* do not name pods, so
// their number does not grow with the pods; rest_client_* count each attempt of a request; in storage_operation_duration_seconds,
// verify_controller_attached_volume is once per set-up of a pod's volume, and includes the wait for the VolumeAttachment;
// volume_apply_access_control does not have the agent's own files, which are written with their group; a volume_mount is a set-up, not an
// update of the content; kubelet_cpu_manager_allocation_per_numa has all NUMA nodes, also those of which no container has CPUs, and goes back
// to 0; kubelet_terminated_containers_total also counts exits that no status shows, because the container waits for its restart at once;
// kubelet_pleg_* are about relists only, which are rare while CRI events arrive; kubelet_evented_pleg_connection_error_count also counts a
// stream that the runtime refuses at once; for kubelet_pod_start_sli_duration_seconds, the watch shows a start with the first event after the
// status was sent, and mirror pods are left out; kubelet_pod_start_duration_seconds is observed once per start, where upstream also observes
// the first sync of each pod, of adopted ones too; kubelet_pod_worker_duration_seconds is the time of the sync itself, upstream's begins when
// the sync is requested; kubelet_http_requests_total has requests that were not published, of floods, with the method and the path "other".
//
// Upstream: pkg/kubelet/metrics/metrics.go.
package metrics
