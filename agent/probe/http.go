package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/probe/httpget"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// newTransport returns a transport for probes: no proxy, no keep-alive, no verification of certificates. The container
// writes the response.
func newTransport() *http.Transport {
	return &http.Transport{
		MaxResponseHeaderBytes: httpget.MaxHeader,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a probe asks whether it answers, not who it is
		TLSHandshakeTimeout:    10 * time.Second,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		DialContext:            dialer().DialContext,
	}
}

// newH2CTransport returns a transport for HTTP/2 without TLS.
func newH2CTransport() *http.Transport {
	t := &http.Transport{
		MaxResponseHeaderBytes: httpget.MaxHeader,
		DisableKeepAlives:      true, DisableCompression: true, DialContext: dialer().DialContext, Protocols: &http.Protocols{},
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// get succeeds if the response's status is from 200 to 399.
//
// Upstream: pkg/probe/http/http.go.
func (p *Prober) get(ctx context.Context, a *attempt) outcome {
	req, err := httpget.Request(ctx, a.probe.HTTPGet, a.container, p.podIP(a.pod), userAgent)
	if err != nil {
		return outcome{err: err}
	}
	transport := p.http
	if p.cfg.H2C && a.probe.HTTPGet.Protocol != nil && *a.probe.HTTPGet.Protocol == v1.HTTPProtocolHTTP2 {
		transport = p.h2c
	}
	client := &http.Client{Timeout: a.timeout, Transport: transport, CheckRedirect: httpget.SameHost}
	resp, err := client.Do(req)
	if err != nil {
		return outcome{output: err.Error(), recorded: redact.URLError(err).Error(), timedOut: isTimeout(err), answer: answerOf(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput))
	switch {
	case err != nil:
		return outcome{err: err, begun: true}
	case resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusBadRequest:
		return outcome{answer: trace.AnswerStatus, code: resp.StatusCode, output: fmt.Sprintf("HTTP probe failed with statuscode: %d", resp.StatusCode)} // never the body: it may contain anything
	case resp.StatusCode >= http.StatusMultipleChoices:
		return outcome{ok: true, warning: true, output: fmt.Sprintf("Probe terminated redirects, Response body: %s", body), recorded: fmt.Sprintf("Probe terminated redirects, %d bytes of body", len(body))}
	}
	return outcome{ok: true, output: string(body), recorded: fmt.Sprintf("%d bytes of body", len(body))}
}
