package kubeclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// requestLimit is the timeout of a request other than a watch, including the response's body: the API server's own
// timeout (--request-timeout). A connection that stays open without a response (because of a proxy or an admission
// webhook) must not block callers forever. Upstream's kubelet has no such timeout for its main client.
const requestLimit = time.Minute

var errNoAnswer = errors.New("the API server has not answered within " + requestLimit.String())

// limited gives a request its timeout. done is called when the response was read, or there is none.
func limited(req *http.Request, verb trace.APIVerb) (_ *http.Request, done func()) {
	if verb == trace.APIWatch {
		return req, func() {}
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), requestLimit, errNoAnswer)
	return req.WithContext(ctx), cancel
}

// limitedBody ends the timeout when the body is closed.
type limitedBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *limitedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
