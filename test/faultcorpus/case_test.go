package faultcorpus_test

import (
	"cmp"
	"slices"
	"testing"
)

// fault is a case: something that happens to a pod, and what why must say of it.
type fault struct {
	name, class string
	// does says what happens.
	does string
	// want are the causes that must be named; the first one must be the first of all.
	want []string
	// may are causes that are true, too: saying them is no mistake, nor is silence.
	may []string
	// silent are causes that look alike and are not true. A case that has any is a near-miss.
	silent []string
	// pod is the pod in question, web if empty.
	pod string
	// cluster says that it happens in a cluster: the agent has an API server.
	cluster bool
	// round says when the case was written: 0 with the rules, 1 and 2 after them, held out from what they were changed for.
	round int
	// make makes it happen. The recording ends when it returns.
	make func(*scene)
}

// nearMiss reports whether the case is about causes that must not be named.
func (f *fault) nearMiss() bool { return len(f.silent) > 0 }

// cases are all cases, by name.
func cases() []fault {
	all := slices.Concat(networkFaults(), registryFaults(), pullFaults(), runtimeFaults(), podFaults(), endFaults(), workloadFaults(), secondRound())
	for i := range all {
		if all[i].pod == "" {
			all[i].pod = "web"
		}
	}
	slices.SortFunc(all, func(a, b fault) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name)) })
	return all
}

// TestCases: names are unique, and each case says something.
func TestCases(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range cases() {
		if seen[f.name] || f.name == "" || f.class == "" || f.does == "" || f.make == nil || len(f.want)+len(f.silent) == 0 {
			t.Errorf("case %q: want a unique name, a class, what it does, how, and causes to name or not to name", f.name)
		}
		seen[f.name] = true
		for _, id := range slices.Concat(f.want, f.may) {
			if slices.Contains(f.silent, id) {
				t.Errorf("case %s: %s must be named and not be named", f.name, id)
			}
		}
	}
}
