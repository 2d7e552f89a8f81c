package trace

import (
	"regexp"
	"strconv"
)

// probeAnswers match the outputs of failed attempts of the kubelet's probes. The container may have written parts of them. Upstream:
// pkg/probe/http/http.go, pkg/probe/tcp/tcp.go, pkg/probe/grpc/grpc.go.
var probeAnswers = []struct {
	how    ProbeHow
	answer ProbeAnswer
	text   *regexp.Regexp
}{
	{ProbeHTTP, AnswerStatus, regexp.MustCompile(`^HTTP probe failed with statuscode: ([1-9][0-9]{2})`)},
	{ProbeGRPC, AnswerNotServing, regexp.MustCompile(`^service unhealthy \(responded with `)},
	{ProbeGRPC, AnswerRPC, regexp.MustCompile(`^error: (health rpc probe failed|this server does not implement the grpc health protocol)`)},
	{ProbeGRPC, AnswerUnreachable, regexp.MustCompile(`^timeout: failed to connect service `)},
	{ProbeHTTP, AnswerProtocol, regexp.MustCompile(`^Get "[^"]*": (http: server gave HTTP response to HTTPS client|tls: first record does not look like a TLS handshake)`)},
	{ProbeHTTP, AnswerRefused, regexp.MustCompile(`^Get "[^"]*": dial tcp \S+ connect: connection refused`)},
	{ProbeHTTP, AnswerUnreachable, regexp.MustCompile(`^Get "[^"]*": dial tcp.*(no route to host|network is unreachable|no such host)`)},
	{ProbeHTTP, AnswerClosed, regexp.MustCompile(`^Get "[^"]*": (EOF|unexpected EOF|read tcp .*: connection reset by peer)`)},
	{ProbeTCP, AnswerRefused, regexp.MustCompile(`^dial tcp \S+ connect: connection refused`)},
	{ProbeTCP, AnswerUnreachable, regexp.MustCompile(`^dial tcp.*(no route to host|network is unreachable|no such host)`)},
}

// ProbeAnswerIn returns what a failed attempt ran into, and with which kind of probe, from the output that a kubelet logs; empty if
// the output does not say. Code is the HTTP status.
func ProbeAnswerIn(output string) (how ProbeHow, answer ProbeAnswer, code int) {
	output = output[:min(len(output), maxClassified)]
	for _, p := range probeAnswers {
		m := p.text.FindStringSubmatch(output)
		if m == nil {
			continue
		}
		if len(m) > 1 && p.answer == AnswerStatus {
			code, _ = strconv.Atoi(m[1]) // three digits
		}
		return p.how, p.answer, code
	}
	return "", "", 0
}
