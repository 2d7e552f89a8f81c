package kubeclient

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxAttempts limits the attempts of a request for which the server requests retries.
//
// Upstream: client-go/rest/request.go, NewRequest (ten retries).
const maxAttempts = 11

// roundTripper publishes each attempt, and retries as the server requests. client-go would retry too, but not publish
// it.
type roundTripper struct {
	bus    *trace.Bus
	client trace.APIClient
	next   http.RoundTripper
	reach  *reach // may be nil
}

// Wrap returns a decorator of transports that publishes the calls of the named client and retries those for which the server
// requests a retry.
func Wrap(bus *trace.Bus, client trace.APIClient) func(http.RoundTripper) http.RoundTripper {
	return wrap(bus, client, nil)
}

func wrap(bus *trace.Bus, client trace.APIClient, r *reach) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return &roundTripper{bus: bus, client: client, next: next, reach: r}
	}
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (t *roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	call := describe(t.client, req)
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			call.Attempt = attempt
		}
		resp, err := t.once(req, &call)
		if err != nil || call.RetryAfter == 0 {
			return resp, err
		}
		resp.Header.Del("Retry-After") // otherwise client-go would repeat these retries
		again, ok := repeat(req)
		if attempt == maxAttempts || !ok {
			return resp, nil
		}
		drain(resp)
		if err := t.pause(req.Context(), call); err != nil {
			return nil, err
		}
		req = again
	}
}

// once sends the request and publishes it.
func (t *roundTripper) once(req *http.Request, call *trace.APICall) (*http.Response, error) {
	ctx := req.Context()
	call.Code, call.RetryAfter, call.Err, call.Class = 0, 0, "", ""
	span := trace.Begin(t.bus, trace.FromContext(ctx), *call)
	if tp := span.Traceparent(); tp != "" {
		req = req.Clone(ctx)
		req.Header.Set("Traceparent", tp)
	}
	req, done := limited(req, call.Verb)
	resp, err := t.next.RoundTrip(req)
	t.reach.saw(resp, err)
	if err != nil {
		if context.Cause(req.Context()) == errNoAnswer { //nolint:errorlint // the very one that limited gives
			err = errNoAnswer
		}
		done()
		err = explain(err)
		call.Err, call.Class = err.Error(), trace.ClassifyError(err)
		trace.End(t.bus, span, *call)
		return nil, err
	}
	resp.Body = &limitedBody{resp.Body, done}
	call.Code = resp.StatusCode
	call.RetryAfter = retryAfter(resp)
	trace.End(t.bus, span, *call)
	if call.Verb == trace.APIWatch && resp.StatusCode == http.StatusOK && t.bus != nil {
		resp.Body = &watchBody{ReadCloser: resp.Body, over: func() {
			over := *call
			over.Ended = true
			trace.Point(t.bus, span, over)
		}}
	}
	return resp, nil
}

// pause waits as long as the server requests, plus up to a tenth, so that not all clients retry at once.
func (t *roundTripper) pause(ctx context.Context, call trace.APICall) error {
	d := call.RetryAfter + rand.N(call.RetryAfter/10+1)
	wait := trace.Wait{
		For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetryAfter, Name: string(call.Verb) + " " + call.Resource},
		Cause: fmt.Sprintf("status %d", call.Code), Tries: max(call.Attempt, 1), Until: time.Now().Add(d).UnixNano(),
	}
	span := trace.Begin(t.bus, trace.FromContext(ctx), wait)
	defer trace.End(t.bus, span, wait)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retryAfter returns how long the server requests to wait, 0 if the response is final.
func retryAfter(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode/100 != 5 {
		return 0
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// repeat returns the request with its body at the start again; false if that is not possible.
func repeat(req *http.Request) (*http.Request, bool) {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again.Body = body
	return again, true
}

// drain reads a little of an unneeded response, so that its connection can be reused.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}
