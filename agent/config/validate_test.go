package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRules sets fields to various values and checks every problem.
func TestRules(t *testing.T) {
	for yaml, want := range map[string]string{
		"port: 70000":                        `port: 70000 is out of range; must be between 1 and 65535`,
		"readOnlyPort: -1":                   `readOnlyPort: -1 is out of range; must be between 0 and 65535`,
		"healthzPort: 0":                     "",
		"healthzBindAddress: localhost":      `healthzBindAddress: "localhost" is not an IP address`,
		"nodeLeaseDurationSeconds: -1":       `nodeLeaseDurationSeconds: -1 is too low; must be 1 or more`,
		"nodeStatusMaxImages: -1":            "",
		"memoryThrottlingFactor: .nan":       `memoryThrottlingFactor: NaN is out of range; must be above 0 and at most 1`,
		"memoryThrottlingFactor: 0.9":        "",
		"userNamespaces: {idsPerPod: 100}":   `userNamespaces.idsPerPod: 100 must be a multiple of 65536 below 4294967296`,
		"syncFrequency: -1s":                 `syncFrequency: -1s must be above zero`,
		"cpuCFSQuotaPeriod: 2s":              `cpuCFSQuotaPeriod: 2s is out of range; must be between 1ms and 1s`,
		"containerLogMonitorInterval: 1s":    `containerLogMonitorInterval: 1s is too short; must be 3s or more`,
		"containerLogMaxSize: big":           `containerLogMaxSize: "big" is not a quantity such as "500Mi"`,
		"containerLogMaxSize: '-1'":          "",
		"containerLogMaxSize: 0.5Gi":         "",
		"containerLogMaxSize: 100m":          `containerLogMaxSize: "100m" must be a whole number of bytes, such as "10Mi"`,
		"maxPods: 10.5":                      `maxPods: 10.5 is not a whole number of at most 32 bits`,
		"maxPods: 1e+10":                     `maxPods: 1e+10 is not a whole number of at most 32 bits`,
		"maxOpenFiles: .inf":                 `maxOpenFiles: .inf is not a whole number of at most 64 bits`,
		"memorySwap: {swapBehavior: none}":   `memorySwap.swapBehavior: "none" is not supported; must be NoSwap or LimitedSwap`,
		"memorySwap: {swapBehavior: NoSwap}": "",
		"runOnce: true":                      `runOnce: is no longer supported; leave it out`,
		"podLogsDir: /var/log/":              `podLogsDir: "/var/log/" must be written "/var/log"`,
		"podLogsDir: /lög":                   `podLogsDir: "/lög" must be plain ASCII: it appears in metrics`,

		"imageGCLowThresholdPercent: 85":                        `imageGCLowThresholdPercent: 85 must be below imageGCHighThresholdPercent, which is 85`,
		"imageMaximumGCAge: 1m":                                 `imageMaximumGCAge: 1m0s must be above imageMinimumGCAge, which is 2m0s`,
		"maxParallelImagePulls: 0":                              `maxParallelImagePulls: 0 is too low; must be 1 or more`,
		"{maxParallelImagePulls: 2, serializeImagePulls: true}": `maxParallelImagePulls: 2 needs serializeImagePulls to be false`,
		"preloadedImagesVerificationAllowlist: [a/b]":           `preloadedImagesVerificationAllowlist: needs imagePullCredentialsVerificationPolicy to be NeverVerifyAllowlistedImages`,
		"{imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages, preloadedImagesVerificationAllowlist: ['r:5000/a/*', 'a:1']}": `preloadedImagesVerificationAllowlist[1]: "a:1" must not carry a tag or digest`,
		"{imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages, preloadedImagesVerificationAllowlist: [r.io/a, r.io/App]}":    `preloadedImagesVerificationAllowlist[1]: "r.io/App" is not an image name: repository name must be lowercase`,

		"evictionHard: {nodefs.available: 0%}":                                                 "",
		"evictionSoft: {nodefs.available: 0%, pid.available: 100%}":                            "",
		"evictionSoft: {nodefs.available: 0.0%}":                                               `evictionSoft["nodefs.available"]: needs a grace period in evictionSoftGracePeriod["nodefs.available"]`,
		"evictionHard: {memory.available: '0'}":                                                `evictionHard["memory.available"]: "0" must be above zero; 0% turns the threshold off`,
		"evictionHard: {memory.available: NaN%}":                                               `evictionHard["memory.available"]: "NaN%" must be between 0% and 100%`,
		"evictionMinimumReclaim: {imagefs.available: 0%}":                                      `evictionMinimumReclaim["imagefs.available"]: "0%" must be above 0%`,
		"{evictionSoft: {pid.available: 10%}, evictionSoftGracePeriod: {pid.available: soon}}": `evictionSoftGracePeriod["pid.available"]: "soon" is not a duration such as "1m30s"`,

		"kubeReserved: {gpu: '1'}":  `kubeReserved["gpu"]: cannot be reserved; only cpu, memory, ephemeral-storage and pid can`,
		"kubeReserved: {cpu: -1m}":  `kubeReserved["cpu"]: "-1m" must not be negative`,
		"systemCgroups: /s":         `systemCgroups: needs cgroupRoot`,
		"reservedSystemCPUs: 0-3,5": "",
		"reservedSystemCPUs: 3-0":   `reservedSystemCPUs: "3-0" must be a list of CPUs such as "0-1,4"`,
		"featureGates: {QOSReserved: true}\nqosReserved: {memory: 50%}": "",
		"qosReserved: {cpu: 50%}":                                                      `qosReserved["cpu"]: cannot be reserved; only memory can`,
		"qosReserved: {memory: '50'}":                                                  `qosReserved["memory"]: "50" must be a whole percentage from 0% to 100%`,
		"qosReserved: {memory: 101%}":                                                  `qosReserved["memory"]: "101%" must be a whole percentage from 0% to 100%`,
		"featureGates: {MemoryQoS: false}\nmemoryThrottlingFactor: 0.8":                `memoryThrottlingFactor: needs the feature gate MemoryQoS, which is off`,
		"featureGates: {MemoryQoS: false}\nmemoryReservationPolicy: TieredReservation": `memoryReservationPolicy: needs the feature gate MemoryQoS, which is off`,
		"enforceNodeAllocatable: [system-reserved]":                                    `enforceNodeAllocatable[0]: "system-reserved" needs systemReservedCgroup`,
		"{enforceNodeAllocatable: [kube-reserved-compressible], kubeReservedCgroup: /k, kubeReserved: {cpu: 500m}}": "",
		"enforceNodeAllocatable: [none]":                         "",
		"enforceNodeAllocatable: []":                             "",
		"{enforceNodeAllocatable: [pods], cgroupsPerQOS: false}": `enforceNodeAllocatable[0]: "pods" needs cgroupsPerQOS to be true`,
		"{enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible], kubeReservedCgroup: /k}": `enforceNodeAllocatable: "kube-reserved" and "kube-reserved-compressible" exclude each other`,
		"reservedMemory: [{numaNode: 0, limits: {memory: 0}}, {numaNode: 0, limits: {memory: 1}}]": `reservedMemory[0].limits["memory"]: must not be zero
reservedMemory[1].limits["memory"]: is reserved twice on NUMA node 0`,

		"shutdownGracePeriod: 1ms":             `shutdownGracePeriod: 1ms must be 0 or at least 1s`,
		"shutdownGracePeriodCriticalPods: 10s": `shutdownGracePeriodCriticalPods: 10s must not exceed shutdownGracePeriod, which is 0s`,

		"registerWithTaints: [{key: a/b/c, effect: No}]": `registerWithTaints[0].effect: "No" is not supported; must be NoSchedule, PreferNoSchedule or NoExecute
registerWithTaints[0].key: "a/b/c": a valid label key must consist of alphanumeric characters`,
		"logging: {format: json, vmodule: [{filePattern: a, verbosity: 3}]}": `logging.vmodule: only works with format text`,
		"logging: {verbosity: 4294967295}":                                   `logging.verbosity: 4294967295 must be at most 2147483647`,
		"logging: {options: {text: {splitStream: true}}}":                    `logging.options.text.splitStream: needs the feature gate LoggingAlphaOptions, which is off`,
		"tracing: {endpoint: 'http://x', samplingRatePerMillion: -1}": `tracing.endpoint: "http://x" must be HOST:PORT or a dns, unix or unix-abstract URL
tracing.samplingRatePerMillion: -1 is out of range; must be between 0 and 1000000`,

		"allowedUnsafeSysctls: [kernel.msgmax, kernel.msg*, 'net.core.*', net/ipv4/conf/eth0.1/rp_filter, user.max_ipc_namespaces]": "",
		"allowedUnsafeSysctls: [vm.swappiness, '*', net*, 'net.*.x', NET.core, '']": `allowedUnsafeSysctls[0]: "vm.swappiness" belongs to the node, not to a namespace: must be one that each pod has, such as kernel.msgmax, kernel.sem, fs.mqueue.* or net.*
allowedUnsafeSysctls[1]: "*" belongs to the node, not to a namespace: must be one that each pod has, such as kernel.msgmax, kernel.sem, fs.mqueue.* or net.*
allowedUnsafeSysctls[2]: "net*" belongs to the node, not to a namespace: must be one that each pod has, such as kernel.msgmax, kernel.sem, fs.mqueue.* or net.*
allowedUnsafeSysctls[3]: "net.*.x" must be the name of a sysctl, such as kernel.msgmax, or its beginning and *, such as net.core.*
allowedUnsafeSysctls[4]: "NET.core" must be the name of a sysctl, such as kernel.msgmax, or its beginning and *, such as net.core.*
allowedUnsafeSysctls[5]: "" must be the name of a sysctl, such as kernel.msgmax, or its beginning and *, such as net.core.*`,
		"defaultPodSysctls: {kernel.shmmax: '1'}": `defaultPodSysctls: needs the feature gate DefaultPodSysctls, which is off`,
		"{featureGates: {DefaultPodSysctls: true}, defaultPodSysctls: {vm.swappiness: '1', net.ipv4.tcp_rmem: '1', net/ipv4/tcp_rmem: '2'}}": `defaultPodSysctls["net/ipv4/tcp_rmem"]: is set twice, as net.ipv4.tcp_rmem
defaultPodSysctls["vm.swappiness"]: belongs to the node, not to a namespace, so pods cannot have their own`,
		"{featureGates: {KubeletCrashLoopBackOffMax: false}, crashLoopBackOff: {maxContainerRestartPeriod: 10s}}": `crashLoopBackOff.maxContainerRestartPeriod: needs the feature gate KubeletCrashLoopBackOffMax, which is off`,
		"featureGates: {GracefulNodeShutdown: false}": `featureGates["GracefulNodeShutdownBasedOnPodPriority"]: is on but needs GracefulNodeShutdown, which is off
featureGates["WindowsGracefulNodeShutdown"]: is on but needs GracefulNodeShutdown, which is off`,
	} {
		t.Run(yaml, func(t *testing.T) {
			body := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + yaml
			if inner, ok := strings.CutPrefix(yaml, "{"); ok {
				body = "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, " + inner
			}
			r := newReport()
			_, _ = build(&source{"f", []byte(body)}, nil, parse(t), r)
			var got []string
			for _, p := range r.problems {
				line := p.Field + ": " + p.Detail
				if strings.Contains(line, "a valid label key") { // Kubernetes' own message ends there.
					line, _, _ = strings.Cut(line, ",")
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(sorted(want), sorted(strings.Join(got, "\n"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
