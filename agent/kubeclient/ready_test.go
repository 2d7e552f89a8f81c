package kubeclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

// Without a certificate, requests wait for it, for a limited time.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		var sent atomic.Int64
		rt := await(ready)(roundTrips(func(*http.Request) (*http.Response, error) {
			sent.Add(1)
			return &http.Response{StatusCode: http.StatusOK}, nil
		}))
		try := func(ctx context.Context) (time.Duration, bool, error) {
			b := &body{Reader: strings.NewReader("x")}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://s", b)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = rt.RoundTrip(r) //nolint:bodyclose // it has none
			return time.Since(began), b.closed, err
		}
		if took, closed, err := try(t.Context()); !errors.Is(err, ErrNoCertificate) || took != readyWait || !closed {
			t.Errorf("no certificate: %v after %s, body closed %t", err, took, closed)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if took, closed, err := try(ctx); !errors.Is(err, context.DeadlineExceeded) || took != time.Second || !closed {
			t.Errorf("the caller's deadline: %v after %s, body closed %t", err, took, closed)
		}
		if n := sent.Load(); n != 0 {
			t.Errorf("%d requests were sent without a certificate", n)
		}
		time.AfterFunc(5*time.Second, func() { close(ready) })
		if took, _, err := try(t.Context()); err != nil || took != 5*time.Second || sent.Load() != 1 {
			t.Errorf("it comes meanwhile: %v after %s", err, took)
		}
		if took, _, err := try(t.Context()); err != nil || took != 0 || sent.Load() != 2 {
			t.Errorf("it is there: %v after %s", err, took)
		}
	})
}
