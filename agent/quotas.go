package agent

import (
	"runtime"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/quota"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/emptydir"
)

// quotaGate switches quotas off. Upstream's is off by default; ours counts as on unless somebody set it, because a person has chosen quotas
// for the file system.
const quotaGate = "LocalStorageCapacityIsolationFSQuotaMonitoring"

// newQuotas returns what uses the project quotas of file systems; nil if they are not used. Volumes of the simulated runtime are not on disk
// for long.
func (p *parts) newQuotas() *quota.Projects {
	gates := p.cfg.Kubelet.Kubelet.FeatureGates
	on, set := gates[quotaGate]
	if !set {
		on, set = gates["AllBeta"]
	}
	if p.cfg.Simulated || runtime.GOOS != "linux" || set && !on {
		return nil
	}
	return quota.New(quota.Config{Bus: p.cfg.Bus})
}

// quotaOf returns what the file system counts in the directory of a volume.
func (p *parts) quotaOf(pod *v1.Pod, v *v1.Volume, dir string) (quota.Usage, bool) {
	if p.host.quotas == nil || !quota.Counts(pod, v) {
		return quota.Usage{}, false
	}
	return p.host.quotas.Usage(dir)
}

// counted reports whether the file system counts what is in an emptyDir volume.
func (p *parts) counted(pod *v1.Pod, v *v1.Volume) bool {
	_, ok := p.quotaOf(pod, v, volume.Dir(p.cfg.Kubelet.Node.RootDir, pod.UID, emptydir.Name, v.Name))
	return ok
}
