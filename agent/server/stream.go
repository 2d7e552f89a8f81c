package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// exec runs a command in a container and connects the client to it.
//
// Upstream: pkg/kubelet/server/server.go, getExec.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	opts, err := remotecommand.NewOptions(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	pod := requestOf(r.Context()).pod
	if pod == nil {
		fail(w, http.StatusNotFound, "pod does not exist")
		return
	}
	name := r.PathValue("container")
	id, err := s.running(r.Context(), pod, types.UID(r.PathValue("uid")), name)
	if err == nil && id == "" {
		err = fmt.Errorf("container not found (%q)", name)
	}
	if err != nil {
		failRuntime(w, err)
		return
	}
	answer, err := s.cfg.Runtime.Exec(r.Context(), &runtimeapi.ExecRequest{
		ContainerId: id, Cmd: r.URL.Query()["command"],
		Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr, Tty: opts.TTY,
	})
	s.proxy(w, r, answer.GetUrl(), err, opts)
}

// attach connects the client to a container's main process.
//
// Upstream: getAttach; pkg/kubelet/kubelet_pods.go, GetAttach.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	opts, err := remotecommand.NewOptions(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	pod := requestOf(r.Context()).pod
	if pod == nil {
		fail(w, http.StatusNotFound, "pod does not exist")
		return
	}
	name := r.PathValue("container")
	c := podspec.Container(pod, name)
	id, err := s.running(r.Context(), pod, types.UID(r.PathValue("uid")), name)
	if err == nil && (id == "" || c == nil) {
		err = fmt.Errorf("container %s not found in pod %s", name, fullName(pod))
	}
	if err != nil {
		failRuntime(w, err)
		return
	}
	// Whether the container has a terminal was decided at its creation; the client can only request one.
	answer, err := s.cfg.Runtime.Attach(r.Context(), &runtimeapi.AttachRequest{
		ContainerId: id, Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr && !c.TTY, Tty: c.TTY,
	})
	s.proxy(w, r, answer.GetUrl(), err, opts)
}

// proxy connects the client to the runtime's streaming server. WebSocket clients that can close single streams (version
// 5) are translated to SPDY here, because runtimes do not support them; without WebSockets, the runtime gets them as they are.
func (s *Server) proxy(w http.ResponseWriter, r *http.Request, location string, err error, opts *remotecommand.Options) {
	where, err := streamingURL(location, err)
	if err != nil {
		failRuntime(w, err)
		return
	}
	if s.cfg.WebSockets && wsstream.IsWebSocketRequestWithStreamCloseProtocol(r) {
		requestOf(r.Context()).WebSocket = true
		translate(w, r, where, opts)
		return
	}
	upgrade(where).ServeHTTP(w, r)
}

// failStream responds that a stream could not be connected.
func failStream(w http.ResponseWriter, r *http.Request, err error) {
	requestOf(r.Context()).Reason = err.Error()
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

func streamingURL(location string, err error) (*url.URL, error) {
	if err != nil {
		return nil, err
	}
	where, err := url.Parse(location)
	if err != nil || where.Host == "" {
		return nil, fmt.Errorf("the container runtime's streaming URL %q is invalid", location)
	}
	return where, nil
}

// retryAfter is how long a runtime keeps a streaming request without a client, in seconds.
const retryAfter = 60

// failRuntime responds with the runtime's error.
//
// Upstream: k8s.io/cri-streaming/pkg/streaming/errors.go, WriteError.
func failRuntime(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch grpcstatus.Code(err) {
	case codes.NotFound:
		code = http.StatusNotFound
	case codes.ResourceExhausted:
		code = http.StatusTooManyRequests
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	fail(w, code, err.Error())
}
