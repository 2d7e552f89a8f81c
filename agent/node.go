package agent

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/observe"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// maxResolvConf is how much of resolvConf is read, in bytes. Root writes it, or a program of the node's network.
// Upstream: pkg/kubelet/network/dns/dns.go, maxResolvConfLength.
const maxResolvConf = 10 << 20

// observer joins the PLEG's cache with its way to look again.
type observer struct{ p *pleg.PLEG }

// Get implements podruntime.Observer.
func (o observer) Get(uid types.UID) *observe.Pod { return o.p.Cache().Get(uid) }

// Refresh implements podruntime.Observer.
func (o observer) Refresh(ctx context.Context, uid types.UID) (*observe.Pod, error) {
	return o.p.Refresh(ctx, uid)
}

// criNode is what CRI configs need of this node.
func (p *parts) criNode() criconfig.Node {
	k := p.cfg.Kubelet
	return criconfig.Node{
		LogRoot: k.Pods.LogsDir, ClusterDomain: k.DNS.ClusterDomain, MemoryCapacity: p.machine.Memory,
		Allocatable:    p.resources.Allocatable,
		CFSQuota:       k.Cgroups.CPUQuota,
		CFSPeriod:      k.Cgroups.CPUQuotaPeriod,
		SeccompDefault: k.Pods.SeccompDefault,
		SeccompRoot:    filepath.Join(k.Node.RootDir, "seccomp"),
		HugePageSizes:  cgroup.HugePageSizes("/sys"),
		SELinux:        exists("/sys/fs/selinux/enforce"),
		// Upstream asks for the handler of the pod's RuntimeClass; the default one stands for all here.
		RecursiveReadOnly: slices.ContainsFunc(p.state.Handlers(), func(h *runtimeapi.RuntimeHandler) bool {
			return h.GetName() == "" && h.GetFeatures().GetRecursiveReadOnlyMounts()
		}),
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// dns is a pod's resolver configuration from the node's file as it is now.
func (p *parts) dns(pod *v1.Pod) (*runtimeapi.DNSConfig, []criconfig.Warning) {
	k := p.cfg.Kubelet.DNS
	in := criconfig.DNSInput{ClusterDNS: k.ClusterDNS, ClusterDomain: k.ClusterDomain, NodeIPs: p.hostIPs}
	var warnings []criconfig.Warning
	if k.ResolvConf != "" {
		text, err := wholefile.Read(k.ResolvConf, maxResolvConf)
		if err == nil {
			in.Host, err = criconfig.ParseResolvConf(text)
		}
		if err != nil {
			warnings = append(warnings, criconfig.Warning{Reason: "CheckLimitsForResolvConf", Message: k.ResolvConf + ": " + err.Error()})
		}
	}
	cfg, more := criconfig.DNS(pod, in)
	return cfg, append(warnings, more...)
}

// logLinks is the directory beside the pods' logs in which containers' logs are
// linked: /var/log/containers for /var/log/pods.
func (p *parts) logLinks() string {
	return filepath.Join(filepath.Dir(p.cfg.Kubelet.Pods.LogsDir), "containers")
}

// hostIPs are the configured addresses, or the one that the default route leaves by, or
// without one the first that others could reach, or localhost.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, NodeAddress.
func hostIPs(configured []string) []string {
	if len(configured) > 0 {
		return configured
	}
	if ip, err := utilnet.ResolveBindAddress(nil); err == nil {
		return []string{ip.String()}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return []string{"127.0.0.1"}
	}
	var out []string
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			out = append(out, ip.IP.String())
		}
	}
	if len(out) == 0 {
		return []string{"127.0.0.1"}
	}
	return out[:1]
}
