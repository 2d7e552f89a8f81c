package agent

import (
	"cmp"

	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// measureLabels adds the metrics of SELinux labels, with upstream's help; none on a node without SELinux. As in upstream, they are gauges.
//
// Upstream: pkg/kubelet/volumemanager/cache, registerSELinuxMetrics.
func measureLabels(m *measured, counts map[selinux.Count]int) {
	if len(counts) == 0 {
		return
	}
	const (
		container = "Number of errors when kubelet cannot compute SELinux context for a container"
		pod       = "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume."
		volume    = "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs."
		fails     = " Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of "
		later     = " errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes."
		notYet    = " They are not errors yet, but they will become real" + later
	)
	keys := make([]selinux.Count, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	sorting.Stable(keys, func(a, b *selinux.Count) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Mode, b.Mode))
	})
	for _, f := range []struct {
		metric selinux.Metric
		help   string
	}{
		{selinux.ContainerErrors, container + "." + fails + "containers."},
		{selinux.ContainerWarnings, container + " that are ignored. They will become real" + later},
		{selinux.PodErrors, pod + fails + "Pods."},
		{selinux.PodWarnings, pod + notYet},
		{selinux.VolumeErrors, volume + fails + "Pods."},
		{selinux.VolumeWarnings, volume + notYet},
		{selinux.Admitted, "Number of volumes whose SELinux context was fine and will be mounted with mount -o context option."},
	} {
		m.Gauge(string(f.metric), f.help)
		for _, k := range keys {
			switch {
			case k.Metric != f.metric:
			case k.Plugin == "":
				m.sample(float64(counts[k]), "access_mode", k.Mode)
			default:
				m.sample(float64(counts[k]), "access_mode", k.Mode, "volume_plugin", k.Plugin)
			}
		}
	}
}
