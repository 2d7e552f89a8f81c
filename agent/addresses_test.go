package agent_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// With an external cloud provider, the node's addresses are the provider's: a container that has them in its environment waits, and statuses
// that were written without them get them.
func TestExternalCloud(t *testing.T) {
	h := newHost(t, nil)
	api, flags := h.api()
	n := run(t, h.config(append(flags, "--cloud-provider", "external")...))
	plain, knows := podOf("plain"), podOf("knows")
	knows.Spec.Containers[0].Env = []v1.EnvVar{{Name: "HOST", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "status.hostIP"}}}}
	n.source.Set(plain, knows)
	n.until("start without an address", milestone("started", plain))
	n.until("the container that waits", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.NodeEvent)
		return ok && e.Reason == "Failed" && strings.Contains(e.Message, "the node's address is not known yet")
	})
	if got := n.hostIP(plain); got != "" {
		t.Errorf("host IP %s before there is one", got)
	}
	made := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "u-node", ResourceVersion: "2"}}
	made.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeExternalIP, Address: "192.0.2.9"}, {Type: v1.NodeInternalIP, Address: "10.0.0.9"}}
	api.nodes <- made
	n.until("start with the address", milestone("started", knows))
	if got := n.created(knows); !strings.Contains(got, "10.0.0.9") {
		t.Errorf("the container was created with %s", got)
	}
	for _, p := range []*v1.Pod{plain, knows} {
		n.until("the status", func(r *trace.Record) bool {
			_, ok := r.Event.(*trace.Sync)
			return ok && r.Edge == trace.EdgeEnd && n.hostIP(p) == "10.0.0.9"
		})
	}
	n.end()
}

// hostIP is that in a pod's newest status.
func (n *node) hostIP(p *v1.Pod) string {
	for _, have := range n.Pods() {
		if have.UID == p.UID {
			return have.Status.HostIP
		}
	}
	return ""
}

// The runtime gets the addresses for pods of the node's object.
func TestPodCIDR(t *testing.T) {
	h := newHost(t, nil)
	api, flags := h.api()
	n := run(t, h.config(flags...))
	made := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "u-node", ResourceVersion: "2"}}
	made.Spec.PodCIDR, made.Spec.PodCIDRs = "10.1.0.0/24", []string{"10.1.0.0/24"}
	api.nodes <- made
	n.until("the runtime's answer", func(r *trace.Record) bool {
		c, ok := r.Event.(*trace.CRICall)
		return ok && r.Edge == trace.EdgeEnd && c.Method == "UpdateRuntimeConfig" && c.Code == "OK"
	})
	n.end()
}
