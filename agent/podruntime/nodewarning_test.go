package podruntime

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A warning about the node is an Event of the pod and one of the node.
func TestWarningAboutTheNode(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.rt.cfg.DNS = func(*v1.Pod) (*runtimeapi.DNSConfig, []criconfig.Warning, error) {
			return nil, []criconfig.Warning{{Reason: "OfPod", Message: "pod"}, {Reason: "OfNode", Message: "pod: node", Node: "node"}}, nil
		}
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range w.rec.Records() {
			if e, ok := r.Event.(*trace.NodeEvent); ok && e.Type == trace.EventWarning {
				about := "pod"
				if r.Pod.IsZero() {
					about = "node"
				}
				got = append(got, about+" "+e.Reason+" "+e.Message)
			}
		}
		equal(t, "warnings", []string{"pod OfPod pod", "pod OfNode pod: node", "node OfNode node"}, got)
	})
}
