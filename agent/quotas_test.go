package agent

import (
	"runtime"
	"testing"

	v1 "k8s.io/api/core/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/config"
)

// Quotas are used unless somebody switched the gate off; upstream's default is off.
func TestQuotaGate(t *testing.T) {
	for name, tc := range map[string]struct {
		gates     map[string]bool
		simulated bool
		want      bool
	}{
		"nothing is set":    {want: true},
		"on":                {gates: map[string]bool{quotaGate: true}, want: true},
		"off":               {gates: map[string]bool{quotaGate: false}},
		"all beta off":      {gates: map[string]bool{"AllBeta": false}},
		"only this beta on": {gates: map[string]bool{"AllBeta": false, quotaGate: true}, want: true},
		"another off":       {gates: map[string]bool{"MemoryQoS": false}, want: true},
		"simulated":         {simulated: true},
	} {
		p := &parts{cfg: Config{Simulated: tc.simulated, Kubelet: &config.Config{Kubelet: &kubeletv1beta1.KubeletConfiguration{FeatureGates: tc.gates}}}}
		p.host.quotas = p.newQuotas()
		if got := p.host.quotas != nil; got != (tc.want && runtime.GOOS == "linux") {
			t.Errorf("%s: %t", name, got)
		}
		if _, ok := p.quotaOf(&v1.Pod{Spec: v1.PodSpec{HostUsers: new(false)}}, &v1.Volume{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}, t.TempDir()); ok {
			t.Errorf("%s: a directory without a project is counted", name)
		}
	}
}
