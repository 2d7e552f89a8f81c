package cause

func imageRules() []Rule {
	return []Rule{otherPull(), slowNetwork(), slowUnpacking(), slowCredentials(), imageBackoff()}
}

func networkRules() []Rule {
	return []Rule{slowCNI(), networkNotReady(), nameReserved(), sandboxChurn()}
}

func podRules() []Rule {
	return []Rule{initDominates(), slotQueue(), crashBackoff(), stepped(), behindHung()}
}
