package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/logs"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// containerLogs answers kubectl logs.
//
// Upstream: pkg/kubelet/server/server.go, getContainerLogs.
func (s *Server) containerLogs(w http.ResponseWriter, r *http.Request) {
	opts, err := logOptions(r.URL.Query())
	if err != nil {
		fail(w, http.StatusBadRequest, `{"message": "Unable to decode query."}`)
		return
	}
	if !validLogOptions(opts) {
		fail(w, http.StatusUnprocessableEntity, `{"message": "Invalid request."}`)
		return
	}
	name := r.PathValue("container")
	pod := requestOf(r.Context()).pod
	if pod == nil {
		fail(w, http.StatusNotFound, fmt.Sprintf("pod %q does not exist", r.PathValue("pod")))
		return
	}
	if podspec.Container(pod, name) == nil {
		fail(w, http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q", name, pod.Name))
		return
	}
	if one := opts.Stream; one != nil && *one != v1.LogStreamAll && !s.cfg.SplitStreams {
		fail(w, http.StatusBadRequest,
			fmt.Sprintf("unable to return the given log stream: %q. Please enable PodLogsQuerySplitStreams feature gate in kubelet", *one))
		return
	}
	id, err := loggedContainer(pod, name, opts.Previous)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	path, err := s.logPath(r.Context(), pod, id)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	log, err := logs.Open(r.Context(), s.cfg.Files, path, logs.OptionsOf(opts, time.Now()))
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	defer func() { _ = log.Close() }() // opened only for reading
	s.copyLog(w, r, log, opts, pod, bareID(id))
}

// copyLog sends the log. What fails before the response has begun is its status, and what fails later is its last text, as upstream's.
func (s *Server) copyLog(w http.ResponseWriter, r *http.Request, log *logs.Log, opts *v1.PodLogOptions, pod *v1.Pod, id string) {
	sent := &begun{ResponseWriter: w}
	out := bufio.NewWriterSize(sent, 32<<10)
	var stdout, stderr io.Writer = out, out
	if opts.Stream != nil {
		switch *opts.Stream {
		case v1.LogStreamStdout:
			stderr = nil
		case v1.LogStreamStderr:
			stdout = nil
		}
	}
	w.Header().Set("Content-Type", "text/plain")
	flush := func() { // also an empty log's header: who follows waits for it
		sent.yes = true
		_ = out.Flush() // the next write fails with the same error
		_ = http.NewResponseController(w).Flush()
	}
	alive := func(ctx context.Context) (bool, error) { return s.alive(ctx, pod, id) }
	err := log.Copy(r.Context(), alive, flush, stdout, stderr)
	if err != nil && r.Context().Err() != nil {
		return // nobody reads it
	}
	if err != nil {
		requestOf(r.Context()).Reason = err.Error()
		if !sent.yes && out.Buffered() == 0 {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		_, _ = out.WriteString(err.Error()) // fails if the client is gone, and so does Flush
	}
	_ = out.Flush()
}

// begun says whether a response has begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

// Write implements io.Writer.
func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

// alive reports whether the container may still log.
func (s *Server) alive(ctx context.Context, pod *v1.Pod, id string) (bool, error) {
	if c := s.cfg.Observed.Get(pod.UID).Container(id); c != nil {
		return c.State == podstate.Running, nil
	}
	// Not observed yet, or no longer.
	st, err := s.cfg.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	switch grpcstatus.Code(err) {
	case codes.OK:
		return st.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING, nil
	case codes.NotFound:
		return false, nil
	case codes.Unavailable: // containers continue without the runtime
		return true, nil
	}
	return false, err
}

// logPath returns the path of the container's log. The error names the container as the pod's status does, with upstream's words.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, GetContainerLogs.
func (s *Server) logPath(ctx context.Context, pod *v1.Pod, full string) (string, error) {
	id := bareID(full)
	if c := s.cfg.Observed.Get(pod.UID).Container(id); c != nil && c.LogPath != "" {
		return c.LogPath, nil
	}
	st, err := s.cfg.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		requestOf(ctx).Reason = err.Error()
		return "", fmt.Errorf("unable to retrieve container logs for %s", full)
	}
	if st.GetStatus().GetLogPath() == "" {
		return "", fmt.Errorf("unable to retrieve container logs for %s: the runtime names no log", full)
	}
	return st.Status.LogPath, nil
}
