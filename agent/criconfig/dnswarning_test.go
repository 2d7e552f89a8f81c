package criconfig_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// That there is no cluster DNS is said about the pod and about the node, in upstream's words.
func TestMissingClusterDNS(t *testing.T) {
	const node = `kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u"}}
	_, got := criconfig.DNS(pod, criconfig.DNSInput{})
	want := criconfig.Warning{Reason: "MissingClusterDNS", Message: `pod: "web_shop(u)". ` + node, Node: node}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
