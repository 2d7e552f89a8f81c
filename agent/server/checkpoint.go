package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// checkpoint calls the runtime to write a container's state to a file.
//
// Upstream: pkg/kubelet/server/server.go, checkpoint; pkg/kubelet/kubelet.go, CheckpointContainer. A runtime without checkpoints is status
// 500: 404 says that the feature gate is disabled.
func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("container")
	pod := requestOf(r.Context()).pod
	if pod == nil {
		fail(w, http.StatusNotFound, "pod does not exist")
		return
	}
	if podspec.Container(pod, name) == nil {
		fail(w, http.StatusNotFound, fmt.Sprintf("container %s does not exist", name))
		return
	}
	req := &runtimeapi.CheckpointContainerRequest{Location: filepath.Join(s.cfg.Checkpoints,
		fmt.Sprintf("checkpoint-%s-%s-%s.tar", fullName(pod), name, time.Now().Format(time.RFC3339)))}
	if timeouts := r.URL.Query()["timeout"]; len(timeouts) > 0 {
		var err error
		if req.Timeout, err = strconv.ParseInt(timeouts[len(timeouts)-1], 10, 64); err != nil {
			fail(w, http.StatusNotFound, "cannot parse value of timeout parameter")
			return
		}
	}
	id, err := s.running(r.Context(), pod, "", name)
	if err == nil && id == "" {
		err = fmt.Errorf("container %s not found", name)
	}
	if err == nil && req.Timeout < 0 {
		err = errors.New("CheckpointContainer requires the timeout value to be > 0") // upstream's text
	}
	if err == nil {
		req.ContainerId = id
		_, err = s.cfg.Runtime.CheckpointContainer(r.Context(), req)
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, fmt.Sprintf("checkpointing of %s/%s/%s failed (%v)", pod.Namespace, pod.Name, name, err))
		return
	}
	p, err := json.Marshal(map[string][]string{"items": {req.Location}})
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, p)
}
