package server

import (
	"net/http"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/conns"
)

// within limits the number of concurrent requests. Health checks cost nothing and are always answered.
func within(streams, answers *conns.Share, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		share := answers
		switch first {
		case "healthz":
			h.ServeHTTP(w, r)
			return
		case "exec", "attach", "portForward", "run", "containerLogs", "checkpoint":
			share = streams
		}
		give := share.Take(requestOf(r.Context()).holder())
		if give == nil {
			requestOf(r.Context()).Reason = "too many requests at once"
			w.Header().Set("Retry-After", "1")
			fail(w, http.StatusTooManyRequests, "too many requests at once")
			return
		}
		defer give()
		h.ServeHTTP(w, r)
	})
}
