package cause

func volumeRules() []Rule { return nil } // KL09 to KL12, KL18
func nodeRules() []Rule   { return nil } // KL13, KL15 to KL17, KL19, KL20, KL22 to KL25
