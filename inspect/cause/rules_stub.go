package cause

func imageRules() []Rule   { return nil } // KL01 to KL05
func networkRules() []Rule { return nil } // KL06 to KL08, KL14
func volumeRules() []Rule  { return nil } // KL09 to KL12, KL18
func nodeRules() []Rule    { return nil } // KL13, KL15 to KL17, KL19 to KL28
