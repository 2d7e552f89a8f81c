package kubeletpoll

import (
	"encoding/json"
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

// shown are the settings that matter for how long pods take, by their names in the KubeletConfiguration.
var shown = []string{
	"syncFrequency", "runtimeRequestTimeout", "serializeImagePulls", "maxParallelImagePulls", "registryPullQPS", "registryBurst", "kubeAPIQPS", "kubeAPIBurst",
	"eventRecordQPS", "nodeStatusUpdateFrequency", "nodeStatusReportFrequency", "configMapAndSecretChangeDetectionStrategy", "cgroupDriver", "cpuManagerPolicy",
	"imageGCHighThresholdPercent", "maxPods",
}

// settings tells of the kubelet's settings in use.
func (p *Poll) settings(text []byte) {
	var c struct {
		Kubelet map[string]json.RawMessage `json:"kubeletconfig"`
	}
	if json.Unmarshal(text, &c) != nil || len(c.Kubelet) == 0 {
		return
	}
	var attrs []trace.KV
	for _, name := range shown {
		var v any
		if json.Unmarshal(c.Kubelet[name], &v) == nil && v != nil {
			attrs = append(attrs, trace.KV{K: name, V: trace.Clip(fmt.Sprint(v), 128)})
		}
	}
	var logging struct {
		Verbosity int `json:"verbosity"`
	}
	if json.Unmarshal(c.Kubelet["logging"], &logging) == nil {
		attrs = append(attrs, trace.KV{K: "logging.verbosity", V: fmt.Sprint(logging.Verbosity)})
	}
	p.log(trace.LevelInfo, "attach: the kubelet's settings in use", attrs...)
}
