package server

import (
	"cmp"
	"encoding/json"
	"net/http"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// pods responds with a v1.PodList of all pods of the node, by namespace and name.
//
// Upstream: pkg/kubelet/server/server.go, getPods.
func (s *Server) pods(w http.ResponseWriter, _ *http.Request) { writePods(w, s.cfg.Pods()) }

// runningPods responds with the pods that the runtime runs, desired or not.
//
// Upstream: getRunningPods.
func (s *Server) runningPods(w http.ResponseWriter, _ *http.Request) {
	items := []v1.Pod{}
	for uid, p := range s.cfg.Observed.All() {
		pod := v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: uid}}
		for _, c := range p.Containers {
			if c.State == podstate.Running {
				pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: c.Name, Image: c.Image})
			}
		}
		if len(pod.Spec.Containers) > 0 || p.Active() {
			items = append(items, pod)
		}
	}
	writePods(w, items)
}

func writePods(w http.ResponseWriter, items []v1.Pod) {
	list := v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: items}
	sorting.Stable(list.Items, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	for i := range list.Items {
		list.Items[i].TypeMeta = metav1.TypeMeta{} // a static pod's is that of its manifest
	}
	marshal(w, &list)
}

func marshal(w http.ResponseWriter, v any) {
	p, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, p)
}

func writeJSON(w http.ResponseWriter, p []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(p) // a client that is gone needs no response
}
