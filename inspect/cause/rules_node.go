package cause

// volumeRules are KL09 to KL12 and KL18.
func volumeRules() []Rule {
	return []Rule{ownership(), volumeWait(), objectWait(), throttling(), orphanedVolume()}
}

// nodeRules are KL13, KL15 to KL17, KL19, KL20 and KL22 to KL25.
func nodeRules() []Rule {
	return []Rule{slowCgroup(), stalledRuntime(), blockedLoop(), stuckTerminating(), probeTiming(), starvedProbe(), surprise(), cpuPressure(), memoryPressure(), ioPressure()}
}
