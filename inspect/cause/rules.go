package cause

func imageRules() []Rule   { return nil } // KL01 to KL05
func networkRules() []Rule { return nil } // KL06 to KL08, KL14
func podRules() []Rule     { return nil } // KL21, KL26 to KL28
