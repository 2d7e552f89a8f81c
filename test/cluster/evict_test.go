package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStorageLimits has pods that write more than their limits of local storage: they are evicted, with upstream's messages, and the node
// goes on as if nothing had happened. What uses up the node itself is test/evict's.
func TestStorageLimits(t *testing.T) {
	b := setup(t)
	b.node(t)
	s := b.space(t)
	limit := func(p *v1.Pod) *v1.Pod {
		p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse("10Mi")}
		return p
	}
	volume := func(p *v1.Pod) *v1.Pod {
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("10Mi"))}}}}
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
		return p
	}
	write := func(to, mib string) string {
		return "dd if=/dev/zero of=" + to + " bs=1M count=" + mib + "; " + forever
	}
	s.create(volume(pod("volume", write("/data/fill", "30"))), limit(pod("layer", write("/fill", "30"))), limit(volume(pod("within", write("/data/fill", "5")))))
	for name, want := range map[string]string{
		"volume": `Usage of EmptyDir volume "data" exceeds the limit "10Mi". `,
		"layer":  "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
	} {
		p := s.wait(name, "evicted", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
		if p.Status.Reason != "Evicted" || p.Status.Message != want {
			t.Errorf("%s: %s, %q, want %q", name, p.Status.Reason, p.Status.Message, want)
		}
		s.event(name, "Evicted")
		events, err := b.client.CoreV1().Events(s.name).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=Evicted"})
		if err != nil || len(events.Items) != 1 || strings.TrimSpace(events.Items[0].Message) != strings.TrimSpace(want) || events.Items[0].Type != v1.EventTypeWarning {
			t.Errorf("%s: events %+v, %v", name, events, err)
		}
	}
	s.ready("within")
	if p := s.wait("within", "ready", isReady); p.Status.Reason != "" {
		t.Errorf("within its limits: %s", short(p))
	}
}
