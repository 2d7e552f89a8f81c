package kubeclient

import (
	"errors"
	"net/http"
	"time"
)

// readyWait is how long a request waits for the agent's first certificate. Then its caller goes on without, or tries again.
const readyWait = 10 * time.Second

// ErrNoCertificate says that a request was not sent because the agent has no certificate yet.
var ErrNoCertificate = errors.New("the agent has no client certificate yet: its signing request must be approved")

// waiting holds requests back until ready is closed.
type waiting struct {
	ready <-chan struct{}
	next  http.RoundTripper
}

// await returns a decorator of transports whose requests wait until ready is closed.
func await(ready <-chan struct{}) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return &waiting{ready, next} }
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (w *waiting) WrappedRoundTripper() http.RoundTripper { return w.next }

// RoundTrip implements http.RoundTripper.
func (w *waiting) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := w.wait(req); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	return w.next.RoundTrip(req)
}

func (w *waiting) wait(req *http.Request) error {
	select {
	case <-w.ready:
		return nil
	default:
	}
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	select {
	case <-w.ready:
		return nil
	case <-req.Context().Done():
		return req.Context().Err()
	case <-timer.C:
		return ErrNoCertificate
	}
}
