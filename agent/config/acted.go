package config

// Ignored is a field or a flag that is set, but has no effect.
type Ignored struct {
	// Name is the path of a field, or a flag with its dashes.
	Name string
	// Why is the reason.
	Why string
}

// ignoredFields has the fields of KubeletConfiguration that have no effect, with the reasons. They are still decoded and validated; those that
// are set are in [Config.NotActedOn].
func ignoredFields() map[string]string {
	const (
		output = "the agent has no log in the kubelet's format; -o chooses what it prints"
		bits   = "the kubelet has not used it since v1.27 either"
	)
	return map[string]string{
		"syncFrequency":                       "the agent does not poll; it acts when something changes",
		"hairpinMode":                         "it was for kubenet, which Kubernetes has removed; the network plugin does this",
		"runOnce":                             "the flag for this is --once",
		"makeIPTablesUtilChains":              "the agent does not use iptables",
		"iptablesMasqueradeBit":               bits,
		"iptablesDropBit":                     bits,
		"showHiddenMetricsForVersion":         "the agent has no hidden metrics",
		"streamingConnectionIdleTimeout":      "the kubelet ignores it too; the container runtime has its own (containerd: stream_idle_timeout)",
		"logging.format":                      output,
		"logging.flushFrequency":              output,
		"logging.verbosity":                   output,
		"logging.vmodule":                     output,
		"logging.options.text.splitStream":    output,
		"logging.options.text.infoBufferSize": output,
		"logging.options.json.splitStream":    output,
		"logging.options.json.infoBufferSize": output,
	}
}

// ignoredFlags has the flags that set no field and have no effect, with the reasons.
func ignoredFlags() map[string]string {
	return map[string]string{"housekeeping-interval": "the agent has no cAdvisor; it reads cgroups on demand"}
}

// ignoredCloud is the reason why a --cloud-provider other than external has no effect.
const ignoredCloud = "Kubernetes has removed its integrated cloud providers; external is the only value"

// ignoredGate is the reason why a feature gate has no effect.
const ignoredGate = "nothing in the agent depends on this feature gate"

// alwaysGates are gates of the kubelet that have no effect although their features have: the agent has each of them, whatever the gate says.
// docs/run.md has the reasons.
func alwaysGates() []string {
	return []string{
		"ClusterTrustBundleProjection", "ContainerRestartRules", "EnvFiles", "EventedPLEG", "HugepageAwareEviction", "KubeletSeparateDiskGC",
		"KubeletServiceAccountTokenForCredentialProviders", "PodCertificateRequest", "PodLevelResourcesFixKubeletQOSClass", "ReloadKubeletClientCAFile",
		"ReloadKubeletServerCertificateFile",
	}
}

// ignoredAlways is the reason why one of alwaysGates has no effect.
const ignoredAlways = "the agent always has the feature"

// actedOn lists the fields of KubeletConfiguration that have an effect.
func actedOn() map[string]bool {
	return map[string]bool{
		"enableServer":                               true,
		"staticPodPath":                              true,
		"podLogsDir":                                 true,
		"fileCheckFrequency":                         true,
		"httpCheckFrequency":                         true,
		"staticPodURL":                               true,
		"staticPodURLHeader":                         true,
		"address":                                    true,
		"port":                                       true,
		"readOnlyPort":                               true,
		"tlsCertFile":                                true,
		"tlsPrivateKeyFile":                          true,
		"tlsCipherSuites":                            true,
		"tlsCurvePreferences":                        true,
		"tlsMinVersion":                              true,
		"rotateCertificates":                         true,
		"serverTLSBootstrap":                         true,
		"authentication.x509.clientCAFile":           true,
		"authentication.webhook.enabled":             true,
		"authentication.webhook.cacheTTL":            true,
		"authentication.anonymous.enabled":           true,
		"authorization.mode":                         true,
		"authorization.webhook.cacheAuthorizedTTL":   true,
		"authorization.webhook.cacheUnauthorizedTTL": true,
		"registryPullQPS":                            true,
		"registryBurst":                              true,
		"imagePullCredentialsVerificationPolicy":     true,
		"preloadedImagesVerificationAllowlist":       true,
		"eventRecordQPS":                             true,
		"eventBurst":                                 true,
		"enableDebuggingHandlers":                    true,
		"enableContentionProfiling":                  true,
		"healthzPort":                                true,
		"healthzBindAddress":                         true,
		"podCIDR":                                    true,
		"oomScoreAdj":                                true,
		"clusterDomain":                              true,
		"clusterDNS":                                 true,
		"nodeStatusUpdateFrequency":                  true,
		"nodeStatusReportFrequency":                  true,
		"nodeLeaseDurationSeconds":                   true,
		"imageMinimumGCAge":                          true,
		"imageMaximumGCAge":                          true,
		"imageGCHighThresholdPercent":                true,
		"imageGCLowThresholdPercent":                 true,
		"kubeletCgroups":                             true,
		"systemCgroups":                              true,
		"cgroupRoot":                                 true,
		"cgroupsPerQOS":                              true,
		"cgroupDriver":                               true,
		"cpuManagerPolicy":                           true,
		"singleProcessOOMKill":                       true,
		"cpuManagerPolicyOptions":                    true,
		"cpuManagerReconcilePeriod":                  true,
		"memoryManagerPolicy":                        true,
		"topologyManagerPolicy":                      true,
		"topologyManagerScope":                       true,
		"topologyManagerPolicyOptions":               true,
		"qosReserved":                                true,
		"runtimeRequestTimeout":                      true,
		"maxPods":                                    true,
		"podPidsLimit":                               true,
		"resolvConf":                                 true,
		"cpuCFSQuota":                                true,
		"cpuCFSQuotaPeriod":                          true,
		"nodeStatusMaxImages":                        true,
		"maxOpenFiles":                               true,
		"contentType":                                true,
		"kubeAPIQPS":                                 true,
		"kubeAPIBurst":                               true,
		"serializeImagePulls":                        true,
		"maxParallelImagePulls":                      true,
		"evictionHard":                               true,
		"evictionSoft":                               true,
		"evictionSoftGracePeriod":                    true,
		"evictionPressureTransitionPeriod":           true,
		"evictionMaxPodGracePeriod":                  true,
		"evictionMinimumReclaim":                     true,
		"mergeDefaultEvictionSettings":               true,
		"podsPerCore":                                true,
		"enableControllerAttachDetach":               true,
		"protectKernelDefaults":                      true,
		"featureGates":                               true,
		"failSwapOn":                                 true,
		"memorySwap.swapBehavior":                    true,
		"containerLogMaxSize":                        true,
		"containerLogMaxFiles":                       true,
		"containerLogMaxWorkers":                     true,
		"containerLogMonitorInterval":                true,
		"configMapAndSecretChangeDetectionStrategy":  true,
		"systemReserved":                             true,
		"kubeReserved":                               true,
		"reservedSystemCPUs":                         true,
		"systemReservedCgroup":                       true,
		"kubeReservedCgroup":                         true,
		"enforceNodeAllocatable":                     true,
		"allowedUnsafeSysctls":                       true,
		"defaultPodSysctls":                          true,
		"volumePluginDir":                            true,
		"volumeStatsAggPeriod":                       true,
		"providerID":                                 true,
		"kernelMemcgNotification":                    true,
		"enableSystemLogHandler":                     true,
		"enableSystemLogQuery":                       true,
		"shutdownGracePeriod":                        true,
		"shutdownGracePeriodCriticalPods":            true,
		"shutdownGracePeriodByPodPriority":           true,
		"crashLoopBackOff.maxContainerRestartPeriod": true,
		"reservedMemory":                             true,
		"enableProfilingHandler":                     true,
		"enableDebugFlagsHandler":                    true,
		"seccompDefault":                             true,
		"memoryThrottlingFactor":                     true,
		"memoryReservationPolicy":                    true,
		"registerWithTaints":                         true,
		"registerNode":                               true,
		"tracing.endpoint":                           true,
		"tracing.samplingRatePerMillion":             true,
		"localStorageCapacityIsolation":              true,
		"containerRuntimeEndpoint":                   true,
		"imageServiceEndpoint":                       true,
		"failCgroupV1":                               true,
		"userNamespaces.idsPerPod":                   true,
	}
}

// actedOnGates lists the supported feature gates.
func actedOnGates() map[string]bool {
	return map[string]bool{
		"AllowDNSOnlyNodeCSR":                            true,
		"AtomicWriteVolumeUserFields":                    true,
		"CPUManagerPolicyAlphaOptions":                   true,
		"CPUManagerPolicyBetaOptions":                    true,
		"CRIListStreaming":                               true,
		"CSIVolumeHealth":                                true,
		"ChangeContainerStatusOnKubeletRestart":          true,
		"ComponentFlagz":                                 true,
		"ComponentStatusz":                               true,
		"ContainerCheckpoint":                            true,
		"ContainerStopSignals":                           true,
		"CustomCPUCFSQuotaPeriod":                        true,
		"DRANodeAllocatableResources":                    true,
		"DRAOptionalNodeOperations":                      true,
		"DRAWorkloadResourceClaims":                      true,
		"DefaultPodSysctls":                              true,
		"EmptyDirVolumeMode":                             true,
		"ExtendWebSocketsToKubelet":                      true, // also declared
		"GRPCContainerProbeTLS":                          true,
		"GracefulNodeShutdown":                           true,
		"GracefulNodeShutdownBasedOnPodPriority":         true,
		"H2CContainerProbe":                              true,
		"ImageVolumeWithDigest":                          true,
		"InPlacePodLevelResourcesVerticalScaling":        true, // declared
		"InPlacePodVerticalScalingExclusiveCPUs":         true,
		"InPlacePodVerticalScalingExclusiveMemory":       true,
		"InPlacePodVerticalScalingInitContainers":        true, // declared; locked
		"InPlacePodVerticalScalingMemoryBackedVolumes":   true,
		"InPlacePodVerticalScalingSchedulerPreemption":   true,
		"KubeletAllocatedPodsEndpoint":                   true,
		"KubeletCrashLoopBackOffMax":                     true,
		"KubeletEnsureSecretPulledImages":                true,
		"KubeletInUserNamespace":                         true,
		"KubeletPodResourcesListUseActivePods":           true,
		"KubeletRegistrationGetOnExistsOnly":             true,
		"LocalStorageCapacityIsolationFSQuotaMonitoring": true,
		"MemoryQoS":                            true,
		"NodeLogQuery":                         true,
		"PodAndContainerStatsFromCRI":          true,
		"PodLevelResourceManagers":             true,
		"PodLevelResources":                    true,
		"PodLogsQuerySplitStreams":             true,
		"PodsAPI":                              true,
		"QOSReserved":                          true,
		"ReduceDefaultCrashLoopBackOffDecay":   true,
		"ResourceHealthStatus":                 true,
		"ResourceHealthStatusMessage":          true,
		"RestartAllContainersOnContainerExits": true, // declared
		"RotateKubeletServerCertificate":       true, // serverTLSBootstrap needs it
		"RuntimeClassInImageCriApi":            true,
		"SELinuxMount":                         true,
		"TaintTolerationComparisonOperators":   true,
		// No option of the topology manager is alpha or beta: these two change nothing, here and in upstream's kubelet.
		"TopologyManagerPolicyAlphaOptions": true,
		"TopologyManagerPolicyBetaOptions":  true,
		"UserNamespacesHostNetworkSupport":  true, // declared
		"VolumeBindMountOptions":            true, // declared
	}
}
