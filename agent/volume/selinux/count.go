package selinux

// Metric is the name of a metric of upstream's kubelet.
type Metric string

// The metrics. Those of errors count pods that are not started, again with each attempt; those of warnings count what would be an error with
// another access mode.
//
// Upstream: pkg/kubelet/volumemanager/cache, registerSELinuxMetrics.
const (
	ContainerErrors   Metric = "volume_manager_selinux_container_errors_total"
	ContainerWarnings Metric = "volume_manager_selinux_container_warnings_total"
	PodErrors         Metric = "volume_manager_selinux_pod_context_mismatch_errors_total"
	PodWarnings       Metric = "volume_manager_selinux_pod_context_mismatch_warnings_total"
	VolumeErrors      Metric = "volume_manager_selinux_volume_context_mismatch_errors_total"
	VolumeWarnings    Metric = "volume_manager_selinux_volume_context_mismatch_warnings_total"
	Admitted          Metric = "volume_manager_selinux_volumes_admitted_total"
)

// Count is what one number is of.
type Count struct {
	Metric Metric
	// Plugin is the volume's plugin, with the driver, and Mode its access mode. The metrics of containers and pods have no plugin.
	Plugin, Mode string
}

// MetricOf returns the metric of an error of [For], or of an error that is ignored.
func MetricOf(err error, ignored bool) Metric {
	_, translation := err.(*TranslationError) //nolint:errorlint // For does not wrap it
	switch {
	case translation && ignored:
		return ContainerWarnings
	case translation:
		return ContainerErrors
	case ignored:
		return PodWarnings
	}
	return PodErrors
}
