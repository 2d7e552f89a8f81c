package sim

import (
	"context"
	"encoding/json"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PodSandboxStatus returns the status of one sandbox, or NotFound.
func (s *Server) PodSandboxStatus(ctx context.Context, r *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	return quick(ctx, s, "PodSandboxStatus", s.aboutSandbox(r.GetPodSandboxId()), func() (*runtimeapi.PodSandboxStatusResponse, error) {
		sb, err := s.findSandbox(r.GetPodSandboxId())
		if err != nil {
			return nil, fmt.Errorf("an error occurred when try to find sandbox: %w", err)
		}
		resp := &runtimeapi.PodSandboxStatusResponse{Status: sb.status()}
		if r.GetVerbose() {
			resp.Info, err = verbose(map[string]any{
				"simulated": true, "config": sb.config, "overhead": sb.overhead, "resources": sb.resources,
			})
		}
		return resp, err
	})
}

// verbose returns the info of a verbose response: one JSON object, as in containerd.
func verbose(v map[string]any) (map[string]string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("failed to marshal info: %w", err)
	}
	return map[string]string{"info": string(b)}, nil
}

func (sb *sandbox) status() *runtimeapi.PodSandboxStatus {
	return &runtimeapi.PodSandboxStatus{
		Id:             sb.id,
		Metadata:       sb.config.GetMetadata(),
		State:          sb.state,
		CreatedAt:      sb.createdAt,
		Network:        &runtimeapi.PodSandboxNetworkStatus{Ip: sb.ip},
		Linux:          &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: sb.namespaces()}},
		Labels:         sb.config.GetLabels(),
		Annotations:    sb.config.GetAnnotations(),
		RuntimeHandler: sb.handler,
	}
}
