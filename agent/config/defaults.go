package config

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// defaultEvictionHard returns the default hard eviction thresholds.
//
// Upstream: pkg/kubelet/eviction/defaults_linux.go.
func defaultEvictionHard() map[string]string {
	return map[string]string{
		"memory.available":   "100Mi",
		"nodefs.available":   "10%",
		"nodefs.inodesFree":  "5%",
		"imagefs.available":  "15%",
		"imagefs.inodesFree": "5%",
	}
}

// setDefaults sets every field that is not set, except those that defaultEvictions sets.
//
// Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go, SetDefaults_KubeletConfiguration.
func setDefaults(kc *kubeletv1beta1.KubeletConfiguration, gates Gates) {
	kc.APIVersion, kc.Kind = apiVersion, kind
	defaultPods(kc, gates)
	defaultServing(kc)
	defaultNode(kc)
	defaultLogs(kc)

	pointer(&kc.SerializeImagePulls, kc.MaxParallelImagePulls == nil || *kc.MaxParallelImagePulls < 2)
	pointer(&kc.RegistryPullQPS, 5)
	value(&kc.RegistryBurst, 10)
	duration(&kc.ImageMinimumGCAge, 2*time.Minute)
	pointer(&kc.ImageGCHighThresholdPercent, 85)
	pointer(&kc.ImageGCLowThresholdPercent, 80)
	if gates.Enabled("KubeletEnsureSecretPulledImages") {
		value(&kc.ImagePullCredentialsVerificationPolicy, kubeletv1beta1.NeverVerifyPreloadedImages)
	}

	pointer(&kc.MergeDefaultEvictionSettings, false)
	duration(&kc.EvictionPressureTransitionPeriod, 5*time.Minute)
}

// defaultEvictions sets the hard eviction thresholds that the main file does not set. Drop-ins change them, and can remove them.
//
// Upstream: cmd/kubelet/app/server.go, loadConfigFile.
func defaultEvictions(kc *kubeletv1beta1.KubeletConfiguration) {
	if kc.EvictionHard == nil {
		kc.EvictionHard = defaultEvictionHard()
	} else if kc.MergeDefaultEvictionSettings != nil && *kc.MergeDefaultEvictionSettings {
		merged := defaultEvictionHard()
		maps.Copy(merged, kc.EvictionHard)
		kc.EvictionHard = merged
	}
}

func defaultPods(kc *kubeletv1beta1.KubeletConfiguration, gates Gates) {
	duration(&kc.SyncFrequency, time.Minute)
	duration(&kc.FileCheckFrequency, 20*time.Second)
	duration(&kc.HTTPCheckFrequency, 20*time.Second)
	duration(&kc.VolumeStatsAggPeriod, time.Minute)
	duration(&kc.RuntimeRequestTimeout, 2*time.Minute)
	value(&kc.MaxPods, 110)
	if kc.PodPidsLimit == nil || *kc.PodPidsLimit < 0 {
		kc.PodPidsLimit = new(int64(-1)) // The node's allocatable PIDs.
	}
	value(&kc.PodLogsDir, "/var/log/pods")
	pointer(&kc.ResolverConfig, "/etc/resolv.conf")
	pointer(&kc.SeccompDefault, false)
	pointer(&kc.CPUCFSQuota, true)
	durationPointer(&kc.CPUCFSQuotaPeriod, 100*time.Millisecond)
	value(&kc.HairpinMode, kubeletv1beta1.PromiscuousBridge)
	pointer(&kc.EnableControllerAttachDetach, true)
	value(&kc.VolumePluginDir, "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/")
	value(&kc.ConfigMapAndSecretChangeDetectionStrategy, kubeletv1beta1.WatchChangeDetectionStrategy)
	pointer(&kc.LocalStorageCapacityIsolation, true)
	if gates.Enabled("KubeletCrashLoopBackOffMax") {
		durationPointer(&kc.CrashLoopBackOff.MaxContainerRestartPeriod, 5*time.Minute)
	}
}

func defaultServing(kc *kubeletv1beta1.KubeletConfiguration) {
	pointer(&kc.EnableServer, true)
	value(&kc.Address, "0.0.0.0")
	value(&kc.Port, 10250)
	pointer(&kc.HealthzPort, 10248)
	value(&kc.HealthzBindAddress, "127.0.0.1")
	duration(&kc.StreamingConnectionIdleTimeout, 4*time.Hour)
	pointer(&kc.EnableDebuggingHandlers, true)
	pointer(&kc.EnableSystemLogHandler, true)
	pointer(&kc.EnableProfilingHandler, true)
	pointer(&kc.EnableDebugFlagsHandler, true)
	pointer(&kc.Authentication.Anonymous.Enabled, false)
	pointer(&kc.Authentication.Webhook.Enabled, true)
	duration(&kc.Authentication.Webhook.CacheTTL, 2*time.Minute)
	value(&kc.Authorization.Mode, kubeletv1beta1.KubeletAuthorizationModeWebhook)
	duration(&kc.Authorization.Webhook.CacheAuthorizedTTL, 5*time.Minute)
	duration(&kc.Authorization.Webhook.CacheUnauthorizedTTL, 30*time.Second)
}

func defaultNode(kc *kubeletv1beta1.KubeletConfiguration) {
	pointer(&kc.RegisterNode, true)
	if kc.NodeStatusUpdateFrequency.Duration != 0 {
		duration(&kc.NodeStatusReportFrequency, kc.NodeStatusUpdateFrequency.Duration)
	}
	duration(&kc.NodeStatusReportFrequency, 5*time.Minute)
	duration(&kc.NodeStatusUpdateFrequency, 10*time.Second)
	value(&kc.NodeLeaseDurationSeconds, 40)
	pointer(&kc.NodeStatusMaxImages, 50)
	value(&kc.ContentType, "application/vnd.kubernetes.protobuf")
	pointer(&kc.KubeAPIQPS, 50)
	value(&kc.KubeAPIBurst, 100)
	pointer(&kc.EventRecordQPS, 50)
	value(&kc.EventBurst, 100)

	value(&kc.MaxOpenFiles, 1_000_000)
	pointer(&kc.OOMScoreAdj, -999)
	pointer(&kc.FailSwapOn, true)
	pointer(&kc.FailCgroupV1, false) // Upstream: true. Here both versions are supported.
	pointer(&kc.CgroupsPerQOS, true)
	value(&kc.CgroupDriver, "cgroupfs")
	pointer(&kc.MakeIPTablesUtilChains, true)
	pointer(&kc.IPTablesMasqueradeBit, 14)
	pointer(&kc.IPTablesDropBit, 15)
	value(&kc.CPUManagerPolicy, "none")
	duration(&kc.CPUManagerReconcilePeriod, 10*time.Second)
	value(&kc.MemoryManagerPolicy, kubeletv1beta1.NoneMemoryManagerPolicy)
	value(&kc.MemoryReservationPolicy, kubeletv1beta1.NoneMemoryReservationPolicy)
	value(&kc.TopologyManagerPolicy, kubeletv1beta1.NoneTopologyManagerPolicy)
	value(&kc.TopologyManagerScope, kubeletv1beta1.ContainerTopologyManagerScope)
	if kc.EnforceNodeAllocatable == nil {
		kc.EnforceNodeAllocatable = []string{"pods"}
	}
}

func defaultLogs(kc *kubeletv1beta1.KubeletConfiguration) {
	logsapi.SetRecommendedLoggingConfiguration(&kc.Logging)
	value(&kc.ContainerLogMaxSize, "10Mi")
	pointer(&kc.ContainerLogMaxFiles, 5)
	pointer(&kc.ContainerLogMaxWorkers, 1)
	durationPointer(&kc.ContainerLogMonitorInterval, 10*time.Second)
}

func value[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

func pointer[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

func duration(p *metav1.Duration, v time.Duration) { value(&p.Duration, v) }

func durationPointer(p **metav1.Duration, v time.Duration) { pointer(p, metav1.Duration{Duration: v}) }
