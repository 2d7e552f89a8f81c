package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// show prints both agents' tests side by side: ran, if there was a run, and
// the newest full run of the other. It returns an error if kubeloupe does not
// pass what upstream's kubelet passes.
func show(kept results, out io.Writer, ran *result) error {
	ours, err := kept.newest(lab.Kubeloupe)
	if err != nil {
		return err
	}
	reference, err := kept.newest(lab.Upstream)
	if err != nil {
		return err
	}
	switch {
	case ran == nil:
	case ran.Agent == lab.Upstream:
		reference = ran
	default:
		ours = ran
	}
	// A run of some tests is compared in these only.
	var only map[string]outcome
	if ran != nil {
		only = byName(ran)
	}
	var b strings.Builder
	table(&b, byName(reference), byName(ours), only)
	for _, r := range []*result{reference, ours} {
		if r != nil {
			failures(&b, r)
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	if ours == nil || ran != nil && ran.Agent == lab.Upstream {
		return nil
	}
	return verdict(reference, ours)
}

// verdict compares all tests that ours ran; without a reference, all must pass.
func verdict(reference, ours *result) error {
	theirs := byName(reference)
	var bad []string
	for _, t := range ours.Tests {
		if t.State == passed {
			continue
		}
		if reference == nil && t.State != skipped || theirs[t.Name].State == passed {
			bad = append(bad, t.Name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("%d tests that upstream passes do not pass here, the first: %s", len(bad), bad[0])
}

func byName(r *result) map[string]outcome {
	if r == nil {
		return nil
	}
	m := make(map[string]outcome, len(r.Tests))
	for _, t := range r.Tests {
		m[t.Name] = t
	}
	return m
}

// table has a line for each test of only, or of either if only is nil.
func table(b *strings.Builder, reference, ours, only map[string]outcome) {
	names := make(map[string]bool)
	for _, m := range []map[string]outcome{reference, ours} {
		for name := range m {
			if _, ok := only[name]; ok || only == nil {
				names[name] = true
			}
		}
	}
	_, _ = fmt.Fprintf(b, "%-16s %-16s test\n", lab.Upstream, lab.Kubeloupe)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, _ = fmt.Fprintf(b, "%-16s %-16s %s\n", cell(reference, name), cell(ours, name), name)
	}
}

// cell is how a test ended.
func cell(m map[string]outcome, name string) string {
	t, ok := m[name]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%s %4.0fs", t.State, t.Seconds)
}

// failures says what did not pass, and why in one line.
func failures(b *strings.Builder, r *result) {
	_, _ = fmt.Fprintf(b, "\n%s\n", r.summary())
	for _, t := range r.Tests {
		if t.State != passed {
			why, _, _ := strings.Cut(strings.TrimSpace(t.Message), "\n")
			_, _ = fmt.Fprintf(b, "  %s: %s: %s\n", t.State, t.Name, cmp.Or(why, "no reason given"))
		}
	}
}
