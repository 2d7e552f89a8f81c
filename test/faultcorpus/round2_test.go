package faultcorpus_test

import (
	"fmt"
	"slices"
)

// secondRound are the cases of the second round: written before they were recorded, without a look at the rules. Half of them are pods
// that start, run and end as they should, or whose fault looks like another one.
func secondRound() []fault {
	all := slices.Concat(registryAgain(), pullAgain(), networkAgain(), runtimeAgain(), exitAgain(), startAgain(), probeAgain(), readyAgain(),
		endAgain(), objectAgain())
	for i := range all {
		all[i].round = 2
	}
	return all
}

// allBut are all causes of pods but some, and but the load of the machine that records (KL23).
func allBut(ids ...string) (list []string) {
	for n := 1; n <= 38; n++ {
		if id := fmt.Sprintf("KL%02d", n); id != "KL23" && !slices.Contains(ids, id) {
			list = append(list, id)
		}
	}
	return list
}
