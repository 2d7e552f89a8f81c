package cause

func imageRules() []Rule {
	return []Rule{otherPull(), slowNetwork(), slowUnpacking(), slowCredentials(), imageBackoff(), slowRegistry(), sandboxImage()}
}

func networkRules() []Rule {
	return []Rule{slowCNI(), networkNotReady(), nameReserved(), sandboxChurn()}
}

func podRules() []Rule {
	return []Rule{initDominates(), slotQueue(), crashBackoff(), stepped(), behindHung(), agentStopped()}
}

// workloadRules are KL30 to KL36, KL39 and KL41 to KL45: what is wrong with the pod itself, or keeps it from running.
func workloadRules() []Rule {
	return []Rule{
		failingProbe(), cannotStart(), outOfMemory(), exited(), missingObject(), refused(), cannotAllocate(), securityRefused(), readinessGate(), devices(),
		shutdownOfNode(), draDriver(), resourceClaim(),
	}
}
