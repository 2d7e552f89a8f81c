package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/probe/httpget"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxAnswer limits how many bytes of a response are read.
const maxAnswer = 10 << 10

// get calls a hook over HTTP. It succeeds with any response, whatever its status. If a server responds with HTTP to
// HTTPS, it is called again without TLS.
//
// Upstream: pkg/kubelet/lifecycle/handlers.go, runHTTPHandler.
func (r *Runner) get(ctx context.Context, pod *v1.Pod, c *v1.Container, podIP string, get *v1.HTTPGetAction) error {
	if get.Host == "" && podIP == "" {
		return errors.New("failed to find networking container: the pod has no address")
	}
	req, err := httpget.Request(ctx, get, c, podIP, "kube-lifecycle/1.37")
	if err != nil {
		return err
	}
	err = r.send(req)
	if !isPlain(err) {
		return redact.URLError(err)
	}
	req = req.Clone(ctx)
	req.URL.Scheme = "http"
	req.Header.Del("Authorization") // it was for a server that TLS authenticates
	if r.send(req) != nil {
		return redact.URLError(err)
	}
	r.warn(ctx, pod, fmt.Sprintf("request to HTTPS lifecycle hook %s got HTTP response, retry with HTTP succeeded", req.URL.Host))
	return nil
}

func (r *Runner) send(req *http.Request) error {
	resp, err := r.client.Do(req)
	if err != nil {
		if said := err.Error(); len(said) > maxAnswer && !isPlain(err) { // it quotes the server
			return errors.New(trace.Clip(said, maxAnswer))
		}
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	return resp.Body.Close()
}

// isPlain reports whether a server responded to TLS without TLS.
func isPlain(err error) bool {
	return errors.Is(err, http.ErrSchemeMismatch)
}

func (r *Runner) warn(ctx context.Context, pod *v1.Pod, message string) {
	const reason = "LifecycleHTTPFallback"
	if r.cfg.Events != nil {
		r.cfg.Events.Pod(ctx, pod, "", v1.EventTypeWarning, reason, message)
		return
	}
	trace.Point(r.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{Type: trace.EventWarning, Reason: reason, Message: message})
}
