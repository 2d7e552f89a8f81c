package server

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readOnly serves what the kubelet's read-only port does, as far as it is there.
func (s *Server) readOnly() http.Handler {
	mux := http.NewServeMux()
	s.installHealth(mux)
	mux.HandleFunc("/pods", s.pods)
	mux.HandleFunc("/pods/", s.pods)
	if s.cfg.Metrics != nil {
		mux.Handle("/metrics", s.cfg.Metrics)
	}
	return mux
}

// pods answers with a v1.PodList of all pods of the node, by namespace and name.
//
// Upstream: pkg/kubelet/server/server.go, getPods.
func (s *Server) pods(w http.ResponseWriter, _ *http.Request) {
	list := v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: s.cfg.Pods()}
	slices.SortFunc(list.Items, func(a, b v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	p, err := json.Marshal(&list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(p) // a client that is gone needs no answer
}
