package rank

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Options are the options of Rank.
type Options struct {
	// By is started (the default), ready, floor, or a phase, such as pull, "wait queue" or unexplained.
	By string
	// N is the number of starts to list; 0 means all. Percentiles include all starts.
	N int
	// Group is image, namespace or source; empty means no groups.
	Group string
}

// Ranking is all starts of a session in order.
type Ranking struct {
	By string `json:"by"`
	// Total is the number of all starts, Started the number of finished ones; the percentiles include the latter.
	Total   int `json:"total"`
	Started int `json:"started"`
	// Stepped is the number of starts that a person held with step; no figure has them, nor Started.
	Stepped int `json:"stepped,omitempty"`
	// Starts are the slowest, at most as many as were requested.
	Starts []Start `json:"starts"`
	// All has the figures of the sort key. Phases are those of the critical path, the longest in total first.
	All    Spread   `json:"all"`
	Phases []Spread `json:"phases"`
	Group  string   `json:"group,omitempty"`
	Groups []Spread `json:"groups,omitempty"`
}

// Spread is the distribution of a figure over the starts that have it.
type Spread struct {
	Name string        `json:"name"`
	N    int           `json:"n"`
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	Max  time.Duration `json:"max_ns"`
	Sum  time.Duration `json:"sum_ns"`
}

// Rank sorts starts. For a pod that has not started, the time since it was seen counts.
func Rank(starts []Start, opt Options) (*Ranking, error) {
	opt.By = cmp.Or(opt.By, "started")
	keys, err := groupKeys(opt.Group)
	if err != nil {
		return nil, err
	}
	if !known(starts, opt.By) {
		return nil, fmt.Errorf("rank by %q: no start has it; want one of %s", opt.By, strings.Join(names(starts), ", "))
	}
	r := &Ranking{By: opt.By, Total: len(starts), Group: opt.Group}
	r.Starts = slices.Clone(starts)
	sorting.Stable(r.Starts, func(a, b *Start) int {
		x, _ := a.by(opt.By)
		y, _ := b.by(opt.By)
		return cmp.Or(last(a.Stepped)-last(b.Stepped), cmp.Compare(y, x), cmp.Compare(b.SoFar, a.SoFar), a.Seen.Compare(b.Seen))
	})
	r.sum(starts, keys)
	if opt.N > 0 && opt.N < len(r.Starts) {
		r.Starts = slices.Clip(r.Starts[:opt.N])
	}
	return r, nil
}

// last returns 1 for starts that follow all others.
func last(stepped bool) int {
	if stepped {
		return 1
	}
	return 0
}

// by returns the figure that a start is ranked by, false if it has none.
func (s *Start) by(what string) (time.Duration, bool) {
	switch what {
	case "started":
		return s.SoFar, s.Started >= 0
	case "ready":
		return s.Ready, s.Ready >= 0
	case "floor":
		return s.Floor, s.Floor > 0
	}
	return s.in(what)
}

// known reports whether starts can be ranked by it; without starts any name is valid.
func known(starts []Start, by string) bool {
	if by == "started" || by == "ready" || by == "floor" || len(starts) == 0 {
		return true
	}
	return slices.ContainsFunc(starts, func(s Start) bool { _, ok := s.in(by); return ok })
}

// names returns the figures that starts can be ranked by.
func names(starts []Start) []string {
	seen := map[string]bool{}
	for i := range starts {
		for _, p := range starts[i].Phases {
			seen[p.Name] = true
		}
	}
	return append([]string{"started", "ready", "floor"}, slices.Sorted(maps.Keys(seen))...)
}

// groupKeys returns a function that returns a start's groups.
func groupKeys(group string) (func(*Start) []string, error) {
	switch group {
	case "":
		return nil, nil
	case "image":
		return func(s *Start) []string { return s.Images }, nil
	case "namespace":
		return func(s *Start) []string { return []string{s.Pod.Namespace} }, nil
	case "source":
		return func(s *Start) []string { return []string{s.Source} }, nil
	}
	return nil, fmt.Errorf("group by %q: want image, namespace or source", group)
}
