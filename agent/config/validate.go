package config

import (
	"math"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// A checker validates the effective configuration. It checks all rules, even if some fail.
//
// Upstream: pkg/kubelet/apis/config/validation, ValidateKubeletConfiguration.
type checker struct {
	*report
	kc    *kubeletv1beta1.KubeletConfiguration
	gates Gates
}

func validate(kc *kubeletv1beta1.KubeletConfiguration, gates Gates, r *report) {
	c := &checker{report: r, kc: kc, gates: gates}
	c.ranges()
	c.durations()
	c.choices()
	c.addresses()
	c.images()
	c.podLogs()
	c.shutdown()
	c.allocatable()
	c.reservedMemory()
	c.reservedForQoS()
	c.evictions()
	c.sysctls()
	c.taints()
	c.logging()
	c.observability()
	c.gatedFields()
	if kc.RunOnce {
		c.add("runOnce", "is no longer supported; leave it out")
	}
}

// between checks an integer; lo and hi are valid.
func (c *checker) between(field string, v, lo, hi int64) {
	if v < lo || v > hi {
		c.add(field, "%d is out of range; must be between %d and %d", v, lo, hi)
	}
}

func (c *checker) atLeast(field string, v, lo int64) {
	switch {
	case v >= lo:
	case lo == 0:
		c.add(field, "%d must not be negative", v)
	default:
		c.add(field, "%d is too low; must be %d or more", v, lo)
	}
}

func (c *checker) ranges() {
	kc := c.kc
	c.between("port", int64(kc.Port), 1, 65535)
	c.between("readOnlyPort", int64(kc.ReadOnlyPort), 0, 65535)
	c.between("healthzPort", int64(*kc.HealthzPort), 0, 65535)
	c.between("oomScoreAdj", int64(*kc.OOMScoreAdj), -1000, 1000)
	c.between("iptablesMasqueradeBit", int64(*kc.IPTablesMasqueradeBit), 0, 31)
	c.between("iptablesDropBit", int64(*kc.IPTablesDropBit), 0, 31)
	c.atLeast("nodeLeaseDurationSeconds", int64(kc.NodeLeaseDurationSeconds), 1)
	c.atLeast("eventBurst", int64(kc.EventBurst), 0)
	c.atLeast("eventRecordQPS", int64(*kc.EventRecordQPS), 0)
	c.atLeast("kubeAPIBurst", int64(kc.KubeAPIBurst), 0)
	c.atLeast("kubeAPIQPS", int64(*kc.KubeAPIQPS), 0)
	c.atLeast("nodeStatusMaxImages", int64(*kc.NodeStatusMaxImages), -1)
	c.atLeast("maxOpenFiles", kc.MaxOpenFiles, 0)
	c.atLeast("maxPods", int64(kc.MaxPods), 0)
	c.atLeast("podsPerCore", int64(kc.PodsPerCore), 0)
	c.atLeast("containerLogMaxWorkers", int64(*kc.ContainerLogMaxWorkers), 1)
	c.atLeast("containerLogMaxFiles", int64(*kc.ContainerLogMaxFiles), 2)
	if f := kc.MemoryThrottlingFactor; f != nil && (math.IsNaN(*f) || *f <= 0 || *f > 1) {
		c.add("memoryThrottlingFactor", "%v is out of range; must be above 0 and at most 1", *f)
	}
	if u := kc.UserNamespaces; u != nil && u.IDsPerPod != nil {
		if n := *u.IDsPerPod; n < 65536 || n > 1<<32-1 || n%65536 != 0 {
			c.add("userNamespaces.idsPerPod", "%d must be a multiple of 65536 below 4294967296", n)
		}
	}
}

func (c *checker) durations() {
	kc := c.kc
	for _, x := range []struct {
		field string
		v     time.Duration
	}{
		{"syncFrequency", kc.SyncFrequency.Duration},
		{"fileCheckFrequency", kc.FileCheckFrequency.Duration},
		{"httpCheckFrequency", kc.HTTPCheckFrequency.Duration},
		{"runtimeRequestTimeout", kc.RuntimeRequestTimeout.Duration},
	} {
		if x.v <= 0 {
			c.add(x.field, "%v must be above zero", x.v)
		}
	}
	if d := kc.CPUCFSQuotaPeriod.Duration; d < time.Millisecond || d > time.Second {
		c.add("cpuCFSQuotaPeriod", "%v is out of range; must be between 1ms and 1s", d)
	}
	if d := kc.ContainerLogMonitorInterval.Duration; d < 3*time.Second {
		c.add("containerLogMonitorInterval", "%v is too short; must be 3s or more", d)
	}
	if p := kc.CrashLoopBackOff.MaxContainerRestartPeriod; p != nil && (p.Duration < time.Second || p.Duration > 5*time.Minute) {
		c.add("crashLoopBackOff.maxContainerRestartPeriod", "%v is out of range; must be between 1s and 5m0s", p.Duration)
	}
}

// choices checks fields with a fixed set of values.
func (c *checker) choices() {
	kc := c.kc
	for _, x := range []struct {
		field, v string
		allowed  []string
	}{
		{"cgroupDriver", kc.CgroupDriver, []string{"cgroupfs", "systemd"}},
		{"hairpinMode", kc.HairpinMode, []string{"promiscuous-bridge", "hairpin-veth", "none"}},
		{"cpuManagerPolicy", kc.CPUManagerPolicy, []string{"none", "static"}},
		{"memoryManagerPolicy", kc.MemoryManagerPolicy, []string{"None", "Static"}},
		{"topologyManagerPolicy", kc.TopologyManagerPolicy, []string{"none", "best-effort", "restricted", "single-numa-node"}},
		{"topologyManagerScope", kc.TopologyManagerScope, []string{"container", "pod"}},
		{"memoryReservationPolicy", string(kc.MemoryReservationPolicy), []string{"None", "TieredReservation"}},
		{"memorySwap.swapBehavior", kc.MemorySwap.SwapBehavior, []string{"", "NoSwap", "LimitedSwap"}},
		{"authorization.mode", string(kc.Authorization.Mode), []string{"AlwaysAllow", "Webhook"}},
		{"configMapAndSecretChangeDetectionStrategy", string(kc.ConfigMapAndSecretChangeDetectionStrategy), []string{"Get", "Cache", "Watch"}},
		{"logging.format", kc.Logging.Format, []string{"text", "json"}},
	} {
		c.oneOf(x.field, x.v, x.allowed...)
	}
}

func (c *checker) oneOf(field, v string, allowed ...string) {
	if slices.Contains(allowed, v) {
		return
	}
	if allowed[0] == "" {
		allowed = allowed[1:]
	}
	c.add(field, "%q is not supported; must be %s%s", v, orList(allowed), didYouMean(v, allowed))
}

// orList returns "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func (c *checker) addresses() {
	c.address("address", c.kc.Address)
	c.address("healthzBindAddress", c.kc.HealthzBindAddress)
	for i, a := range c.kc.ClusterDNS {
		c.address(index("clusterDNS", i), a)
	}
	c.endpoint("containerRuntimeEndpoint", c.kc.ContainerRuntimeEndpoint)
	c.endpoint("imageServiceEndpoint", c.kc.ImageServiceEndpoint)
}

func (c *checker) address(field, v string) {
	if _, err := netip.ParseAddr(v); err != nil {
		c.add(field, "%q is not an IP address", v)
	}
}

func (c *checker) endpoint(field, v string) {
	if _, err := socketPath(v); v != "" && err != nil {
		c.add(field, "%v", err)
	}
}

func (c *checker) podLogs() {
	dir := c.kc.PodLogsDir
	switch {
	case !path.IsAbs(dir):
		c.add("podLogsDir", "%q must be an absolute path", dir)
	case path.Clean(dir) != dir:
		c.add("podLogsDir", "%q must be written %q", dir, path.Clean(dir))
	case strings.ContainsFunc(dir, func(r rune) bool { return r > 127 }):
		c.add("podLogsDir", "%q must be plain ASCII: it appears in metrics", dir)
	}
}

func (c *checker) shutdown() {
	total, critical := c.kc.ShutdownGracePeriod.Duration, c.kc.ShutdownGracePeriodCriticalPods.Duration
	for field, d := range map[string]time.Duration{"shutdownGracePeriod": total, "shutdownGracePeriodCriticalPods": critical} {
		if d < 0 || (d > 0 && d < time.Second) {
			c.add(field, "%v must be 0 or at least 1s", d)
		}
	}
	if critical > total {
		c.add("shutdownGracePeriodCriticalPods", "%v must not exceed shutdownGracePeriod, which is %v", critical, total)
	}
	if len(c.kc.ShutdownGracePeriodByPodPriority) > 0 && (total > 0 || critical > 0) {
		c.add("shutdownGracePeriodByPodPriority", "cannot be combined with shutdownGracePeriod")
	}
}
