package config

import "time"

// gatedFields reports fields whose feature gate is off.
func (c *checker) gatedFields() {
	kc := c.kc
	for _, x := range []struct {
		field string
		used  bool
		gate  string
	}{
		{"cpuCFSQuotaPeriod", kc.CPUCFSQuotaPeriod.Duration != 100*time.Millisecond, "CustomCPUCFSQuotaPeriod"},
		{"imageMaximumGCAge", kc.ImageMaximumGCAge.Duration != 0, "ImageMaximumGCAge"},
		{"defaultPodSysctls", len(kc.DefaultPodSysctls) > 0, "DefaultPodSysctls"},
		{"serverTLSBootstrap", kc.ServerTLSBootstrap, "RotateKubeletServerCertificate"},
		{"shutdownGracePeriod", kc.ShutdownGracePeriod.Duration > 0, "GracefulNodeShutdown"},
		{"shutdownGracePeriodByPodPriority", len(kc.ShutdownGracePeriodByPodPriority) > 0, "GracefulNodeShutdownBasedOnPodPriority"},
		{"memorySwap.swapBehavior", kc.MemorySwap.SwapBehavior != "", "NodeSwap"},
		{"crashLoopBackOff.maxContainerRestartPeriod", kc.CrashLoopBackOff.MaxContainerRestartPeriod != nil, "KubeletCrashLoopBackOffMax"},
		{"imagePullCredentialsVerificationPolicy", kc.ImagePullCredentialsVerificationPolicy != "", "KubeletEnsureSecretPulledImages"},
		{"preloadedImagesVerificationAllowlist", len(kc.PreloadedImagesVerificationAllowlist) > 0, "KubeletEnsureSecretPulledImages"},
		// 0.9 was once the default, so files may still have it.
		{"memoryThrottlingFactor", kc.MemoryThrottlingFactor != nil && *kc.MemoryThrottlingFactor != 0.9, "MemoryQoS"},
		{"memoryReservationPolicy", kc.MemoryReservationPolicy == "TieredReservation", "MemoryQoS"},
		{"enableSystemLogQuery", on(kc.EnableSystemLogQuery), "NodeLogQuery"},
		{"logging.options.text.splitStream", kc.Logging.Options.Text.SplitStream, "LoggingAlphaOptions"},
		{"logging.options.text.infoBufferSize", kc.Logging.Options.Text.InfoBufferSize.Value() != 0, "LoggingAlphaOptions"},
		{"logging.options.json.splitStream", kc.Logging.Options.JSON.SplitStream, "LoggingAlphaOptions"},
		{"logging.options.json.infoBufferSize", kc.Logging.Options.JSON.InfoBufferSize.Value() != 0, "LoggingAlphaOptions"},
	} {
		if x.used && !c.gates.Enabled(x.gate) {
			c.add(x.field, "needs the feature gate %s, which is off", x.gate)
		}
	}
	if on(kc.EnableSystemLogQuery) && !on(kc.EnableSystemLogHandler) {
		c.add("enableSystemLogQuery", "needs enableSystemLogHandler, which is false")
	}
}

func on(b *bool) bool { return b != nil && *b }
