package kubeclient

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// silent is an API server that accepts requests and never responds.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestSilentServer(t *testing.T) {
	for url, limited := range map[string]bool{
		"https://api/api/v1/namespaces/default/pods/web/status":            true,
		"https://api/api/v1/pods?watch=true&fieldSelector=spec.nodeName=n": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = Wrap(nil, "main")(silent{}).RoundTrip(req) //nolint:bodyclose // there is none
			if took := time.Since(began); limited != (took == requestLimit) || limited != errors.Is(err, errNoAnswer) {
				t.Errorf("%s: %v after %s", url, err, took)
			}
		})
	}
}
