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
		return out.String() + limits
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
	return out.String() + limits
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

const limits = `
## Limits that upstream does not have

Whoever reaches the ports can make upstream's kubelet hold any number of connections, each with headers of 1 MiB. What kubeloupe bounds, and
by what arithmetic, is in [limits.go](../agent/server/limits.go). Those that a caller with rights can meet:

- Headers, with the request line: 1 MiB with a client certificate that is known, as the API server has; 128 KiB with a token, on a new connection; 16 KiB
  over HTTP/2, over which exec does not come; 16 KiB on the health and read-only ports. A bearer token has at most 64 KiB.
- 512 streams (exec, attach, port-forward, logs) and 96 other requests at once, 480 and 64 of one user: then 429, with Retry-After.
- A client has 30 s to read each 64 KiB of an answer. Whoever is refused has 5 s, and the connection ends.
- A body is not waited for, except that of /debug/flags/v, for 10 s; the connection ends with the answer.
- A profile takes at most 10 minutes, and four are taken at once.
- /logs/ shows files and directories below /var/log, 10,000 entries of one, and follows no link that leads out of it.
`
