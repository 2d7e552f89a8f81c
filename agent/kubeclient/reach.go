package kubeclient

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// reach notices that the server responds again. The clients share it: the result of one is valid for all.
type reach struct {
	lost atomic.Bool
	back atomic.Pointer[func()]
}

// saw handles the result of a request. Server errors do not count as a recovery.
func (r *reach) saw(resp *http.Response, err error) {
	switch {
	case r == nil || errors.Is(err, context.Canceled):
	case err != nil || resp.StatusCode >= http.StatusInternalServerError:
		r.lost.Store(true)
	case r.lost.CompareAndSwap(true, false):
		if back := r.back.Load(); back != nil {
			(*back)()
		}
	}
}

// OnBack registers f, which is called when the server responds again after an outage, so that callers need not wait for their next
// retry. f must not block. Call it once, before the clients are used.
func (c *Clients) OnBack(f func()) { c.reach.back.Store(&f) }
