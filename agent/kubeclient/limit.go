package kubeclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// requestLimit is how long a request may take, its answer read, that is not a watch: what the API server gives itself
// (--request-timeout). What is behind a connection that lives and never answers (a proxy, an admission webhook) must
// not hold for ever whoever asks. Upstream's kubelet has no such limit for its main client.
const requestLimit = time.Minute

var errNoAnswer = errors.New("the API server has not answered within " + requestLimit.String())

// limited gives a request its limit. done is called when the answer was read, or there is none.
func limited(req *http.Request, verb trace.APIVerb) (_ *http.Request, done func()) {
	if verb == trace.APIWatch {
		return req, func() {}
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), requestLimit, errNoAnswer)
	return req.WithContext(ctx), cancel
}

// limitedBody ends the limit when the body is closed.
type limitedBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *limitedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
