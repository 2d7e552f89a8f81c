package main

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const head = `# Compatibility of the server

` + "`make compat`" + ` generates this page. It sends the same requests to upstream's kubelet %s and to kubeloupe, each as the node of a
cluster with the same configuration. It compares the status codes, media types and ` + "`Allow`" + ` headers of the responses.
[test/compat](../test/compat) has the requests and upstream's responses. ` + "`make test`" + ` also compares with these responses.

| group | requests | same | different, with a reason | different, without a reason |
| --- | ---: | ---: | ---: | ---: |
`

// page is docs/compatibility.md.
func (c comparison) page(of contrast) string {
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
	if len(c.differences) > 0 {
		out.WriteString("\n## Differences of responses\n")
	}
	for _, why := range c.reasons() {
		fmt.Fprintf(&out, "\n%s\n\n| request | upstream | kubeloupe |\n| --- | --- | --- |\n", why)
		for _, d := range c.differences {
			if d.reason == why || d.reason == "" && why == noReason {
				fmt.Fprintf(&out, "| %s | %s | %s |\n", cell(d.id), d.upstream, d.ours)
			}
		}
	}
	return out.String() + of.section() + limits
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

Every client that can connect to the ports can make upstream's kubelet hold any number of connections, each with headers of 1 MiB.
kubeloupe has limits; [limits.go](../agent/server/limits.go) lists all of them and their sum. An authorized client can reach these:

- Headers, including the request line: 1 MiB with a client certificate that the agent knows, such as the API server's; 128 KiB with a
  token on a new connection; 16 KiB over HTTP/2, which exec does not use; 16 KiB on the health and read-only ports. A bearer token has
  at most 64 KiB.
- 512 streams (exec, attach, port-forward, logs) and 96 other requests at the same time, 480 and 64 of them from one user. Above this,
  the response is 429 with Retry-After.
- A client has 30 s to read each 64 KiB of a response. A rejected client has 5 s, and then the server closes the connection.
- The server does not wait for a request body and closes the connection after the response. The exception is /debug/flags/v: the
  server waits 10 s for its body.
- A profile takes at most 10 minutes, and at most four profiles run at the same time.
- /logs/ shows files and directories below /var/log, with at most 10,000 entries of each directory. It does not follow a link that leads
  out of /var/log.
`
