package server

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// installAllocated adds /allocatedPods, unless its feature gate (KubeletAllocatedPodsEndpoint) is off.
func (s *Server) installAllocated(mux *http.ServeMux) {
	if s.cfg.Allocated == nil {
		return
	}
	route(mux, "/allocatedPods", inJSON(s.allocatedPods), http.MethodGet)
	for _, path := range []string{"/{namespace}/{pod}", "/{namespace}/{pod}/{uid}"} {
		route(mux, "/allocatedPods"+path, inJSON(s.allocatedPod), http.MethodGet)
	}
}

// allocatedPods responds with a v1.PodList.
//
// Upstream: pkg/kubelet/server/server.go, getAllocatedPods.
func (s *Server) allocatedPods(w http.ResponseWriter, _ *http.Request) {
	writePods(w, s.cfg.Allocated.Pods())
}

// allocatedPod responds with one v1.Pod. The UID of a mirror pod is not that of its static pod here.
//
// Upstream: getAllocatedPod.
func (s *Server) allocatedPod(w http.ResponseWriter, r *http.Request) {
	pod := s.cfg.Allocated.Pod(r.PathValue("namespace"), r.PathValue("pod"))
	if uid := types.UID(r.PathValue("uid")); pod == nil || uid != "" && uid != pod.UID {
		fail(w, http.StatusNotFound, "pod not found")
		return
	}
	out := *pod // the caller's must not be changed
	out.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	marshal(w, &out)
}
