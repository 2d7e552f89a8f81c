package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// imageVolumes has the collectors of mounts of images.
type imageVolumes struct{ requested, mounted, failed prometheus.Counter }

func newImageVolumes() imageVolumes {
	return imageVolumes{
		requested: counter("image_volume_requested_total", "Number of requested image volumes."),
		mounted:   counter("image_volume_mounted_succeed_total", "Number of successful image volume mounts."),
		failed:    counter("image_volume_mounted_errors_total", "Number of failed image volume mounts."),
	}
}

// mount counts the image volumes of a container that is created. If it fails for another reason, they count as mounted.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, incrementImageVolumeMetrics.
func (i imageVolumes) mount(e *trace.CRICall) {
	i.requested.Add(float64(e.ImageVolumes))
	if e.Class == trace.FailImageVolume {
		i.failed.Add(float64(e.ImageVolumes))
	} else {
		i.mounted.Add(float64(e.ImageVolumes))
	}
}

// credentials has the collectors of calls of credential providers.
type credentials struct {
	took   *prometheus.HistogramVec
	failed *prometheus.CounterVec
}

func newCredentials() credentials {
	return credentials{
		took:   histograms("credential_provider_plugin_duration", "Duration of execution in seconds for credential provider plugin", prometheus.DefBuckets, "plugin_name"),
		failed: counters("credential_provider_plugin_errors_total", "Number of errors from credential provider plugin", "plugin_name"),
	}
}

// waited counts the end of a wait for a credential provider, once for each call of it.
//
// Upstream: pkg/credentialprovider/plugin/plugin.go, runPlugin.
func (c credentials) waited(s *Sink, e *trace.Wait, sec float64) {
	if e.For != trace.WaitCredentials || e.Shared {
		return
	}
	name := s.drivers.label(e.Target.Name)
	c.took.WithLabelValues(name).Observe(sec)
	if e.Cause != "" {
		c.failed.WithLabelValues(name).Inc()
	}
}
