package learn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Topic is a lesson under the name by which a user asks for it.
type Topic struct {
	// Name is in lower case, with - between words; a method has its own spelling.
	Name string
	Lesson
}

// Topics returns all lessons by name, each once, in order of their names.
func Topics() []Topic {
	var all []Topic
	seen := map[string]bool{}
	add := func(name string, l Lesson) {
		if name = named(name); !seen[name] {
			seen[name] = true
			all = append(all, Topic{name, l})
		}
	}
	for name, l := range concepts {
		add(name, l)
	}
	for verb, l := range verbs {
		add(string(verb), l)
	}
	for _, kind := range []waterfall.RowKind{waterfall.RowSeen, waterfall.RowWait, waterfall.RowCall, waterfall.RowSpan} {
		add(kinds[kind].Title, kinds[kind])
	}
	add(unexplained.Title, unexplained)
	for kind, l := range waits {
		add("wait-"+string(kind), l)
	}
	for _, l := range spans {
		add(l.Title, l)
	}
	for label, l := range ops {
		add(label, l)
	}
	for method, l := range calls {
		if !slices.ContainsFunc(all, func(t Topic) bool { return t.Lesson == l }) { // a step has it under its own name
			add(method, l)
		}
	}
	sorting.Stable(all, func(a, b *Topic) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return all
}

// Aliases are the other names of topics: methods of the container runtime by the steps that call them.
func Aliases() map[string]string {
	out := map[string]string{"backoff": "wait-backoff", "back-off": "wait-backoff", "queue": "wait-queue", "throttling": "wait-tokens", "network": "cni", "pull": "image", "grace": "wait-grace"}
	for method, l := range calls {
		for verb, v := range verbs {
			if v == l {
				out[strings.ToLower(method)] = named(string(verb))
			}
		}
	}
	return out
}

// named is a name as a user types it.
func named(name string) string {
	if name = strings.ReplaceAll(name, " ", "-"); strings.ContainsRune(name, '-') || strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return name
}
