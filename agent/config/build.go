package config

import (
	"path/filepath"
	"strings"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// externalCloud is the value of --cloud-provider for cloud providers that are not part of Kubernetes.
const externalCloud = "external"

// group distributes the effective configuration to the consumers' structs.
func group(kc *kubeletv1beta1.KubeletConfiguration, n *nodeFlags, gates Gates) *Config {
	c := &Config{
		Node: Node{
			RootDir: absolute(n.rootDir), HostnameOverride: n.hostname, IPs: splitList(n.nodeIP), Labels: n.labels,
			MaxOpenFiles: kc.MaxOpenFiles, LockFile: absolute(n.lockFile), ExitOnContention: n.exitOnLockContention,
			ExternalCloud: n.cloudProvider == externalCloud, Mounter: absolute(n.mounter),
		},
		API: API{
			Kubeconfig: absolute(n.kubeconfig), Bootstrap: absolute(n.bootstrap), CertDir: absolute(n.certDir),
			CredentialConfig: absolute(n.credentialConfig), CredentialBins: absolute(n.credentials), IgnoreEviction: n.ignoreEvictionThreshold,
		},
		Sources: Sources{
			StaticPodPath: absolute(kc.StaticPodPath), FileCheckFrequency: kc.FileCheckFrequency.Duration,
			URL: kc.StaticPodURL, URLHeaders: kc.StaticPodURLHeader, URLCheckFrequency: kc.HTTPCheckFrequency.Duration,
		},
		Runtime: Runtime{
			Endpoint: kc.ContainerRuntimeEndpoint, ImageEndpoint: kc.ImageServiceEndpoint, Cgroup: n.runtimeCgroups,
			RequestTimeout: kc.RuntimeRequestTimeout.Duration,
		},
		Cgroups: Cgroups{
			Root: kc.CgroupRoot, Driver: kc.CgroupDriver, PerQOS: *kc.CgroupsPerQOS, CPUQuota: *kc.CPUCFSQuota,
			CPUQuotaPeriod: kc.CPUCFSQuotaPeriod.Duration, PodPidsLimit: *kc.PodPidsLimit,
			SingleProcessOOMKill: on(kc.SingleProcessOOMKill), LimitedSwap: kc.MemorySwap.SwapBehavior == "LimitedSwap",
			MemoryQoS: memoryQoS(kc, gates), QOSReserved: qosReserved(kc, gates), Claims: claims(gates),
		},
		Pods: Pods{Max: kc.MaxPods, LogsDir: kc.PodLogsDir, SeccompDefault: *kc.SeccompDefault},
		Images: Images{
			SerializePulls: *kc.SerializeImagePulls, PullQPS: *kc.RegistryPullQPS, PullBurst: kc.RegistryBurst,
			GCHighPercent: *kc.ImageGCHighThresholdPercent, GCLowPercent: *kc.ImageGCLowThresholdPercent,
			GCMinimumAge: kc.ImageMinimumGCAge.Duration, GCMaximumAge: kc.ImageMaximumGCAge.Duration,
		},
		Containers: Containers{MinimumAge: n.minContainerAge, MaxPerContainer: n.maxDeadPerContainer, MaxTotal: n.maxDead},
		DNS:        DNS{ClusterDNS: kc.ClusterDNS, ClusterDomain: kc.ClusterDomain, ResolvConf: *kc.ResolverConfig},
		Server: Server{
			Enabled: *kc.EnableServer, Address: kc.Address, ReadOnlyPort: kc.ReadOnlyPort,
			HealthzAddress: kc.HealthzBindAddress, HealthzPort: *kc.HealthzPort,
		},
		Tracing: tracing(kc),
		Gates:   gates,
		Kubelet: kc,
	}
	c.Pods.FirstRestartBackoff, c.Pods.MaxRestartBackoff = restartBackoff(kc, gates)
	if c.API.CertDir == "" {
		c.API.CertDir = filepath.Join(c.Node.RootDir, "pki")
	}
	switch {
	case kc.MaxParallelImagePulls != nil:
		c.Images.MaxParallelPulls = *kc.MaxParallelImagePulls
	case c.Images.SerializePulls:
		c.Images.MaxParallelPulls = 1
	}
	return c
}

// absolute makes a path absolute, relative to the working directory; empty stays empty.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func splitList(s string) []string {
	var items []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// tracingEndpoint is where spans are sent if tracing is configured without an endpoint. Upstream: component-base/tracing/tracing.go, NewProvider.
const tracingEndpoint = "localhost:4317"

// tracing returns where spans are sent. Upstream: cmd/kubelet/app/server.go, newTracerProvider.
func tracing(kc *kubeletv1beta1.KubeletConfiguration) (t Tracing) {
	if kc.Tracing == nil {
		return t
	}
	t.Endpoint = tracingEndpoint
	if e := kc.Tracing.Endpoint; e != nil && *e != "" {
		t.Endpoint = *e
	}
	if r := kc.Tracing.SamplingRatePerMillion; r != nil {
		t.SamplingPerMillion = *r
	}
	return t
}
