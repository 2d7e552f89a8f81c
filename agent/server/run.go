package server

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
)

// Limits of run, which keeps the output until its caller has read it. Containers write it: without limits, each call
// needs 40 MiB, the maximum that the runtime sends, in the response's encoding.
const (
	maxRunOutput = 1 << 20 // bytes of standard output, and of standard error
	maxRuns      = 16      // concurrent commands
)

// run runs a command in a container and responds with its output.
//
// Upstream: pkg/kubelet/server/server.go, getRun.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
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
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	select {
	case s.runs <- struct{}{}:
		defer func() { <-s.runs }()
	default:
		fail(w, http.StatusTooManyRequests, fmt.Sprintf("%d commands are being run for other callers: try again, or use exec", maxRuns))
		return
	}
	answer, err := s.cfg.Runtime.ExecSync(cri.LimitOutput(r.Context(), maxRunOutput+1), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: strings.Split(r.URL.Query().Get("cmd"), " ")})
	if err == nil && max(len(answer.Stdout), len(answer.Stderr)) > maxRunOutput {
		err = fmt.Errorf("command '%s' exited with %d and printed more than %d bytes, the limit of a response: use exec", r.URL.Query().Get("cmd"), answer.ExitCode, maxRunOutput)
	}
	if err == nil && answer.ExitCode != 0 {
		err = fmt.Errorf("command '%s' exited with %d: %s", r.URL.Query().Get("cmd"), answer.ExitCode, answer.Stderr)
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	if out := append(answer.Stdout, answer.Stderr...); len(out) > 0 {
		writeJSON(w, out) // the output is not JSON, but upstream's clients of /run expect this
	}
}
