// Package metrics folds records into Prometheus metrics under the kubelet's own
// names, labels and buckets, so that dashboards and alerts made for it work.
//
// It owns the collectors and as much state per pod as they need (at most 4096
// pods). Apply is for one goroutine; scraping may happen beside it. It starts no
// goroutine and publishes nothing.
//
// A metric is here only if the records tell what it says. Left out for that reason:
// kubelet_pod_start_sli_duration_seconds (it begins at the API object's creation
// and ends at the watch), kubelet_run_podsandbox_* (by runtime handler), evictions and
// volume statistics.
//
// Where ours differ from upstream's: kubelet_running_pods and
// kubelet_running_containers follow pod statuses instead of relists, so they are
// current without one and count only each container's last attempt; a pull that
// served several pods is observed once in kubelet_image_pull_duration_seconds, from
// its turn on (queueing is in kubeloupe_wait_seconds_total);
// prober_probe_* do not name pods, so their number does not grow with them, nor do they name hosts in
// rest_client_*, of which there is one; storage_operation_duration_seconds counts staging with mounting;
// kubelet_pleg_* tell of relists only, which are rare while CRI events flow.
//
// Upstream: pkg/kubelet/metrics/metrics.go.
package metrics
