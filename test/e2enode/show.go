package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/ginkgoreport"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// show prints the tests of both agents side by side, and why tests failed. The error says what upstream's kubelet passes and kubeloupe does not.
func show(dir string, out io.Writer) error {
	theirs, err := read(dir, lab.Upstream)
	if err != nil {
		return err
	}
	ours, err := read(dir, lab.Kubeloupe)
	if err != nil {
		return err
	}
	var b strings.Builder
	table(&b, theirs, ours)
	failures(&b, lab.Upstream, theirs)
	failures(&b, lab.Kubeloupe, ours)
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	return verdict(theirs, ours)
}

// table has a line for each test.
func table(b *strings.Builder, theirs, ours outcomes) {
	names := outcomes{}
	maps.Copy(names, theirs)
	maps.Copy(names, ours)
	_, _ = fmt.Fprintf(b, "%-16s %-16s test\n", lab.Upstream, lab.Kubeloupe)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, _ = fmt.Fprintf(b, "%-16s %-16s %s\n", cell(theirs, name), cell(ours, name), name)
	}
}

// cell is how a test ended, and after how many seconds.
func cell(o outcomes, name string) string {
	t, ok := o[name]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%s %4.0fs", t.State, t.Seconds)
}

// failures counts, and gives the first line of the reason of what did not pass.
func failures(b *strings.Builder, agent lab.AgentKind, o outcomes) {
	passed, skipped := o.count(ginkgoreport.Passed), o.count(ginkgoreport.Skipped)
	_, _ = fmt.Fprintf(b, "\n%s: %d passed, %d failed, %d skipped\n", agent, passed, len(o)-passed-skipped, skipped)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if t := o[name]; t.State != ginkgoreport.Passed {
			why, _, _ := strings.Cut(strings.TrimSpace(t.Message), "\n")
			_, _ = fmt.Fprintf(b, "  %s: %s: %s\n", t.State, name, cmp.Or(why, "no reason given"))
		}
	}
}

func verdict(theirs, ours outcomes) error {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if ours[name].State != ginkgoreport.Passed && theirs[name].State == ginkgoreport.Passed {
			bad = append(bad, name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("%d tests that upstream passes do not pass here, the first: %s", len(bad), bad[0])
}
