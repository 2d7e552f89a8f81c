package main

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const head = `# Compatibility of the server

Written by ` + "`make compat`" + `: the same requests were sent to upstream's kubelet %s and to kubeloupe, each as the node of a cluster with the
same configuration, and the status codes, media types and ` + "`Allow`" + ` headers of their answers compared. [test/compat](../test/compat) has
the requests; upstream's answers are kept there, and ` + "`make test`" + ` compares with them too.

| group | requests | same | different, with a reason | without |
| --- | ---: | ---: | ---: | ---: |
`

// page is docs/compatibility.md.
func (c comparison) page() string {
	var out strings.Builder
	fmt.Fprintf(&out, head, lab.KubernetesVersion)
	var sum [4]int
	for _, g := range c.groups {
		n := [4]int{c.asked[g], c.asked[g]}
		for _, d := range c.differences {
			if d.group == g {
				n[1]--
				if d.reason == "" {
					n[3]++
				} else {
					n[2]++
				}
			}
		}
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d |\n", g, n[0], n[1], n[2], n[3])
		for i := range n {
			sum[i] += n[i]
		}
	}
	fmt.Fprintf(&out, "| **all** | %d | %d | %d | %d |\n", sum[0], sum[1], sum[2], sum[3])
	if len(c.differences) == 0 {
		return out.String()
	}
	out.WriteString("\n## Differences\n")
	for _, why := range c.reasons() {
		fmt.Fprintf(&out, "\n%s\n\n| request | upstream | kubeloupe |\n| --- | --- | --- |\n", why)
		for _, d := range c.differences {
			if d.reason == why || d.reason == "" && why == noReason {
				fmt.Fprintf(&out, "| %s | %s | %s |\n", cell(d.id), d.upstream, d.ours)
			}
		}
	}
	return out.String()
}

const noReason = "No reason is known."

// reasons are those of the differences, in order.
func (c comparison) reasons() []string {
	var out []string
	seen := map[string]bool{}
	for _, d := range c.differences {
		why := d.reason
		if why == "" {
			why = noReason
		}
		if !seen[why] {
			seen[why] = true
			out = append(out, why)
		}
	}
	return out
}

// cell is a text as code in a table.
func cell(s string) string {
	return "`" + strings.NewReplacer("|", `\|`, "`", "'").Replace(strings.ToValidUTF8(s, "�")) + "`"
}
