package agent

import (
	"context"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeloupe/kubeloupe/agent/auth"
	"github.com/kubeloupe/kubeloupe/agent/exposition"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// Measured returns the kubelet's metrics that are read from the agent's parts, for one response of /metrics; nothing before the agent is
// assembled. Those that count events are in trace/metrics.
//
// Upstream: pkg/kubelet/metrics/metrics.go, and the collectors of other packages.
func (a *Agent) Measured(ctx context.Context) []*dto.MetricFamily {
	p := a.parts.Load()
	if p == nil {
		return nil
	}
	page := &measured{}
	p.measurePods(page)
	p.measureResizes(page)
	p.measureImages(page)
	p.measureVolumes(page)
	p.measureNode(page)
	page.Histogram("kubelet_pleg_pod_relist_duration_seconds", "Duration in seconds for relisting a single pod in PLEG.")
	page.Page.Durations(p.pleg.Refreshes())
	if p.port.clients != nil {
		measureTokens(page, p.port.clients.TokenCounts())
	}
	p.host.stats.KubeletMetrics(ctx, &page.Page)
	return page.Families()
}

// measured is a page of samples without times.
type measured struct{ exposition.Page }

func (m *measured) sample(v float64, labels ...string) { m.Sample(v, time.Time{}, labels...) }

// ifAny adds a sample if there was ever something to count.
func (m *measured) ifAny(ever, v uint64, labels ...string) {
	if ever > 0 {
		m.sample(float64(v), labels...)
	}
}

// gauge and counter add a metric without labels.
func (m *measured) gauge(name, help string, v float64) {
	m.Gauge(name, help)
	m.sample(v)
}

func (m *measured) counter(name, help string, v float64) {
	m.Counter(name, help)
	m.sample(v)
}

// ifTrue is upstream's label for yes and no.
func ifTrue(is bool) string {
	if is {
		return "true"
	}
	return ""
}

func (p *parts) measurePods(m *measured) {
	c := p.pods.store.Counts(p.pods.registry.States())
	m.Gauge("kubelet_active_pods", "The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.")
	for _, static := range []bool{false, true} {
		m.sample(float64(c.Active[static]), "static", ifTrue(static))
	}
	m.Counter("kubelet_restarted_pods_total", "Number of pods that have been restarted because they were deleted and recreated with the same UID while the kubelet was watching them (common for static pods, extremely uncommon for API pods)")
	for _, static := range []bool{false, true} {
		m.sample(float64(c.Restarted[static]), "static", ifTrue(static))
	}
	m.Gauge("kubelet_working_pods", "Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod is static.")
	for state, lifecycle := range map[worker.State]string{worker.Syncing: "sync", worker.Terminating: "terminating", worker.Terminated: "terminated"} {
		for _, w := range []struct{ config, static string }{{"desired", ""}, {"desired", "true"}, {"orphan", ""}, {"orphan", "true"}, {"runtime_only", "unknown"}} {
			n := c.Working[working(state, w.config, w.static == "true")]
			m.sample(float64(n), "config", w.config, "lifecycle", lifecycle, "static", w.static)
		}
	}
	m.gauge("kubelet_managed_ephemeral_containers", "Current number of ephemeral containers in pods managed by this kubelet.", float64(c.Ephemeral))
	mirrors := 0
	if !p.cluster.alone() {
		mirrors = p.cluster.mirrors.Mirrors()
	}
	m.gauge("kubelet_mirror_pods", "The number of mirror pods the kubelet will try to create (one per admitted static pod)", float64(mirrors))
	m.Counter("kubelet_pod_level_resources_admission_total", "Total number of pods admitted during Kubelet admission, categorized by resource configuration mode (pod_and_container_level, pod_level, container_level, or empty for unconfigured/BestEffort) and QoS class.")
	for a, n := range c.Admitted {
		m.sample(float64(n), "config_mode", a.Mode, "qos_class", strings.ToLower(string(a.QoS)))
	}
	m.Counter("kubelet_preemptions", "Cumulative number of pod preemptions by preemption resource")
	for short, n := range c.Preempted {
		m.sample(float64(n), "preemption_signal", string(short))
	}
	if p.cluster.podCerts != nil {
		m.Gauge("kubelet_podcertificate_states", "Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.")
		for c, n := range p.cluster.podCerts.Counts() {
			m.sample(float64(n), "signer_name", c.Signer, "state", string(c.State))
		}
	}
	m.counter("kubelet_sleep_action_terminated_early_total", "The number of times lifecycle sleep handler got terminated before it finishes", float64(p.pods.hooks.Cut()))
}

func (p *parts) measureImages(m *measured) {
	m.Counter("kubelet_image_manager_ensure_image_requests_total", "Number of ensure-image requests processed by the kubelet.")
	for e, n := range p.pods.images.Ensured() {
		m.sample(float64(n), "present_locally", e.Present, "pull_policy", strings.ToLower(string(e.Policy)), "pull_required", e.Pull)
	}
	measureCredentials(m, p.pods.logins)
	if p.pulled == nil {
		return
	}
	c, err := p.pulled.Counts()
	m.Counter("kubelet_imagemanager_image_mustpull_checks_total", "Counter for how many times kubelet checked whether credentials need to be re-verified to access an image")
	for result, n := range c.Checks {
		m.sample(float64(n), "result", string(result))
	}
	if err == nil {
		m.gauge("kubelet_imagemanager_ondisk_pullintents", "Number of ImagePullIntents stored on disk.", float64(c.Intents))
		m.gauge("kubelet_imagemanager_ondisk_pulledrecords", "Number of ImagePulledRecords stored on disk.", float64(c.Records))
	}
}

// measureCredentials adds the hash of the configuration of credential providers, if there is one.
func measureCredentials(m *measured, hash string) {
	if hash != "" {
		m.Gauge("kubelet_credential_provider_config_info", "Information about the last applied credential provider configuration with hash as label")
		m.sample(1, "hash", hash)
	}
}

// measureTokens adds the metrics of the cache of tokens' verdicts. As upstream, what has not happened yet has no sample.
//
// Upstream: apiserver/pkg/authentication/token/cache/stats.go.
func measureTokens(m *measured, c auth.Counts) {
	const cache = "authentication_token_cache_"
	lookups := []struct {
		status string
		exposition.Durations
	}{{"hit", c.Hits}, {"miss", c.Misses}}
	m.Histogram(cache+"request_duration_seconds", "How long requests with a bearer token took to get the verdict on it, by whether it was cached.")
	for _, l := range lookups {
		if l.N > 0 {
			m.Page.Durations(l.Durations, "status", l.status)
		}
	}
	m.Counter(cache+"request_total", "Requests with a bearer token, by whether the verdict on it was cached.")
	for _, l := range lookups {
		m.ifAny(l.N, l.N, "status", l.status)
	}
	m.Counter(cache+"fetch_total", "Reviews of bearer tokens that ended, by whether there is a verdict.")
	m.ifAny(c.Reviewed, c.Reviewed, "status", "ok")
	m.ifAny(c.Failed, c.Failed, "status", "error")
	m.Gauge(cache+"active_fetch_count", "Reviews of bearer tokens in progress, and requests that wait for one (blocked).")
	m.ifAny(c.Reviewed+c.Failed+uint64(c.Reviewing), uint64(c.Reviewing), "status", "in_flight")
	m.ifAny(c.Misses.N+uint64(c.Waiting), uint64(c.Waiting), "status", "blocked")
}

// The two sides that upstream compares.
const (
	wantedState = "desired_state_of_world"
	actualState = "actual_state_of_world"
)

func (p *parts) measureVolumes(m *measured) {
	c := p.volumes.Counts()
	m.Gauge("volume_manager_total_volumes", "Number of volumes in Volume Manager")
	for state, by := range map[string]map[string]int{wantedState: c.Desired, actualState: c.Actual} {
		for plugin, n := range by {
			m.sample(float64(n), "plugin_name", plugin, "state", state)
		}
	}
	measureLabels(m, c.SELinux)
	m.gauge("kubelet_orphan_pod_cleaned_volumes", "The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.", float64(c.Swept+c.SweptErrors))
	m.gauge("kubelet_orphan_pod_cleaned_volumes_errors", "The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.", float64(c.SweptErrors))
	if p.cluster.health != nil {
		m.Gauge("csi_node_storage_health_status", "CSI node storage backend health conditions currently reported (1 = present).")
		for b := range p.cluster.health.Backends() {
			m.sample(1, "driver_name", b.Driver, "status", b.Status, "reason", b.Reason)
		}
	}
	m.Gauge("plugin_manager_total_plugins", "Number of plugins in Plugin Manager")
	for path, registered := range p.pods.sockets.Sockets() {
		m.sample(1, "socket_path", path, "state", wantedState)
		if registered {
			m.sample(1, "socket_path", path, "state", actualState)
		}
	}
}

func (p *parts) measureNode(m *measured) {
	m.Gauge("kubernetes_build_info", "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.")
	m.sample(1, buildLabels(p.cfg.Version, p.cfg.Build)...)
	m.Gauge("kubernetes_feature_enabled", "This metric records the data about the stage and enablement of a k8s feature.")
	p.cfg.Kubelet.Gates.Each(func(name, stage string, on bool) {
		if stage = strings.ToUpper(stage); stage == "GA" {
			stage = ""
		}
		enabled := 0.0
		if on {
			enabled = 1
		}
		m.sample(enabled, "name", name, "stage", stage)
	})
	var guaranteed, burstable int64
	if n := p.criNode(); n.CgroupV2 && n.MemoryQoS != nil && n.MemoryQoS.Tiered {
		guaranteed, burstable = qos.MemoryRequests(p.pods.registry.Unended(), n.Claims)
	}
	m.gauge("kubelet_memory_qos_node_memory_min_bytes", "Total cgroup v2 memory.min in bytes for Guaranteed pods. This memory is hard-reserved and never reclaimed by the kernel.", float64(guaranteed))
	m.gauge("kubelet_memory_qos_node_memory_low_bytes", "Total cgroup v2 memory.low in bytes for Burstable pods. This memory is soft-reserved and may be reclaimed under extreme pressure.", float64(burstable))
	m.Gauge("kubelet_metrics_provider", "Metrics provider used by kubelet to collect container stats. Values can be 'cadvisor' and 'cri'")
	m.sample(1, "provider", p.metricsProvider())
}

// metricsProvider returns upstream's name for where /metrics/cadvisor is from.
//
// Upstream: pkg/kubelet/server/server.go, InstallAuthNotRequiredHandlers.
func (p *parts) metricsProvider() string {
	if p.cfg.Kubelet.Gates.Enabled(statsFromCRI) {
		return "cri"
	}
	return "cadvisor"
}
