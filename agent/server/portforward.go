package server

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// portForward connects the client to ports of a pod.
//
// Upstream: pkg/kubelet/server/server.go, getPortForward.
func (s *Server) portForward(w http.ResponseWriter, r *http.Request) {
	inWebSocket := s.cfg.WebSockets && wsstream.IsWebSocketRequestWithTunnelingProtocol(r) // SPDY inside a WebSocket, which sends its ports later
	opts := &portforward.V4Options{}
	if !inWebSocket {
		var err error
		if opts, err = portforward.NewV4Options(r); err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	pod := requestOf(r.Context()).pod
	switch {
	case pod == nil:
		fail(w, http.StatusNotFound, "pod does not exist")
		return
	case !s.meant(pod, types.UID(r.PathValue("uid"))):
		fail(w, http.StatusNotFound, "pod not found")
		return
	}
	sandbox := s.cfg.Observed.Get(pod.UID).Sandbox()
	if sandbox == nil || !sandbox.Ready {
		failRuntime(w, fmt.Errorf("pod not found (%q)", fullName(pod)))
		return
	}
	answer, err := s.cfg.Runtime.PortForward(r.Context(), &runtimeapi.PortForwardRequest{PodSandboxId: sandbox.ID, Port: opts.Ports})
	where, err := streamingURL(answer.GetUrl(), err)
	if err != nil {
		failRuntime(w, err)
		return
	}
	if inWebSocket {
		requestOf(r.Context()).WebSocket = true
		tunnel(w, r, where)
		return
	}
	upgrade(where).ServeHTTP(w, r)
}
