package main

import (
	"fmt"
	"slices"
	"strings"
)

const contentHead = `
## Contents

` + "`make compat`" + ` also compares what these documents and the services on local sockets say. Each agent runs the same pods: with all kinds of probes,
volumes and containers, that fail, that are rejected, and with devices of device plugins, devices of ResourceClaims and a CPU for themselves. A fact is a
value in JSON (without times, UIDs, addresses and generated names), a line of a text, or a metric with its type and the names of its labels; of
metrics about containers, each container and each sandbox counts, and of the statistics, whether a figure is there.
[contents.json](../test/compat/testdata/contents.json) has all facts of both agents.

| document | facts | same | different, with a reason | different, without a reason |
| --- | ---: | ---: | ---: | ---: |
`

// section is the part of the page about contents.
func (c contrast) section() string {
	var out strings.Builder
	out.WriteString(contentHead)
	var sum row
	for _, r := range c.rows {
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d |\n", cell(r.document), r.all, r.same, r.explained, r.all-r.same-r.explained)
		sum.all, sum.same, sum.explained = sum.all+r.all, sum.same+r.same, sum.explained+r.explained
	}
	fmt.Fprintf(&out, "| **all** | %d | %d | %d | %d |\n", sum.all, sum.same, sum.explained, sum.all-sum.same-sum.explained)
	if len(c.changes) > 0 {
		out.WriteString("\n### Differences of contents\n")
	}
	for _, why := range c.reasons() {
		out.WriteString("\n" + why + "\n\n")
		c.list(&out, why)
	}
	return out.String()
}

// reasons are those of the changes, in order of the table; last, that there is none.
func (c contrast) reasons() []string {
	var out []string
	for _, w := range contentReasons {
		if slices.ContainsFunc(c.changes, func(one change) bool { return one.reason == w.why }) && !slices.Contains(out, w.why) {
			out = append(out, w.why)
		}
	}
	if c.unexplained() > 0 {
		out = append(out, noReason)
	}
	return out
}

// list writes the changes with one reason: first what only one of the agents says, by document, then what they say otherwise.
func (c contrast) list(out *strings.Builder, why string) {
	of := func(document string, is func(change) bool) (paths []string) {
		for _, one := range c.changes {
			if one.document == document && is(one) && (one.reason == why || one.reason == "" && why == noReason) {
				paths = append(paths, cell(one.path))
			}
		}
		return paths
	}
	for _, r := range c.rows {
		for _, only := range []struct {
			who string
			is  func(change) bool
		}{
			{"only upstream", func(one change) bool { return one.ours == absent }},
			{"only kubeloupe", func(one change) bool { return one.upstream == absent }},
		} {
			if paths := of(r.document, only.is); len(paths) > 0 {
				fmt.Fprintf(out, "- %s, %s: %s\n", cell(r.document), only.who, strings.Join(paths, ", "))
			}
		}
		for _, one := range c.changes {
			if one.document == r.document && one.ours != absent && one.upstream != absent && (one.reason == why || one.reason == "" && why == noReason) {
				fmt.Fprintf(out, "- %s, %s: upstream %s, kubeloupe %s\n", cell(r.document), cell(one.path), cell(clipped(one.upstream)), cell(clipped(one.ours)))
			}
		}
	}
}

// clipped is the beginning of a long value.
func clipped(s string) string {
	const most = 160
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
