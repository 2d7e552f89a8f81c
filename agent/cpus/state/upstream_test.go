package state

// Files that a kubelet (v1.37.1, and older ones) writes: their checksums are of upstream's dump of the types of this package.
const (
	upstream     = `{"policyName":"static","defaultCpuSet":"0-1,4-5","entries":{"u1":{"log":"3","web":"2,6"},"u2":{"db":"7"}},"checksum":2487651977,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,4-5\",\"entries\":{\"u1\":{\"log\":\"3\",\"web\":\"2,6\"},\"u2\":{\"db\":\"7\"}}}","dataChecksum":199913594}`
	upstreamNone = `{"policyName":"none","defaultCpuSet":"","checksum":1353318690,"data":"{\"policyName\":\"none\",\"defaultCpuSet\":\"\"}","dataChecksum":3028111495}`
	upstreamOld  = `{"policyName":"static","defaultCpuSet":"0-1,4-5","entries":{"u1":{"log":"3","web":"2,6"},"u2":{"db":"7"}},"checksum":2487651977}`
	upstreamV3   = `{"policyName":"static","defaultCpuSet":"0-1,4-5","entries":{"u1":{"log":"3","web":"2,6"},"u2":{"db":"7"}},"podEntries":{"u9":{"cpuSet":"1-2"}},"checksum":3410284646}`
	sumOld       = `"checksum":2487651977`
	// With the feature gate PodLevelResourceManagers.
	upstreamPods = `{"policyName":"static","defaultCpuSet":"0-1,4-5","entries":{"u1":{"log":"3","web":"2,6"},"u2":{"db":"7"}},"checksum":2487651977,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,4-5\",\"entries\":{\"u1\":{\"log\":\"3\",\"web\":\"2,6\"},\"u2\":{\"db\":\"7\"}},\"podEntries\":{\"u1\":{\"cpuSet\":\"2-3,6\"}}}","dataChecksum":2488579733}`
	// With the feature gate InPlacePodVerticalScalingExclusiveCPUs: web was resized. The second one is with PodLevelResourceManagers, too.
	upstreamBaselines    = `{"policyName":"static","defaultCpuSet":"0-1,4-5","entries":{"u1":{"log":"3","web":"2,6"},"u2":{"db":"7"}},"checksum":2487651977,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,4-5\",\"entries\":{\"u1\":{\"log\":\"3\",\"web\":\"2,6\"},\"u2\":{\"db\":\"7\"}},\"baselines\":{\"u1\":{\"log\":{\"baseline\":\"3\"},\"web\":{\"baseline\":\"2\"}},\"u2\":{\"db\":{\"baseline\":\"7\"}}}}","dataChecksum":1533329894}`
	upstreamPodBaselines = `{"policyName":"static","defaultCpuSet":"0-1,4-5","entries":{"u1":{"log":"3","web":"2,6"},"u2":{"db":"7"}},"checksum":2487651977,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,4-5\",\"entries\":{\"u1\":{\"log\":\"3\",\"web\":\"2,6\"},\"u2\":{\"db\":\"7\"}},\"podEntries\":{\"u1\":{\"cpuSet\":\"2-3,6\"}},\"baselines\":{\"u1\":{\"log\":{\"baseline\":\"3\"},\"web\":{\"baseline\":\"2\"}},\"u2\":{\"db\":{\"baseline\":\"7\"}}}}","dataChecksum":1772050861}`
)
