package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// TestThrottled has a client that may ask once a second, and a server that asks it to come again: both are waits of the pod whose
// ConfigMaps are meant.
func TestThrottled(t *testing.T) {
	b := setup(t)
	f := b.faulty(t)
	b.alone(t)
	cfg := f.node(t, b, "throttled", func(c map[string]any) { c["kubeAPIQPS"], c["kubeAPIBurst"] = 1, 1 })
	a := b.start(t, cfg)
	a.ready()

	s := b.space(t)
	p := pod("p", forever)
	for i := range 3 {
		name := fmt.Sprintf("m%d", i)
		m := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "v"}}
		if _, err := b.client.CoreV1().ConfigMaps(s.name).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
			ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}},
		}})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	f.only.Store("/configmaps/m")
	f.bad(100, http.StatusTooManyRequests)
	s.create(p)
	wait := func(kind trace.WaitKind, on, detail string) {
		t.Helper()
		r := a.record("a wait of p for "+on, func(r *trace.Record) bool {
			w, ok := r.Event.(*trace.Wait)
			return ok && r.Pod.Name == "p" && w.For == kind && say.On(w) == on && r.Edge == trace.EdgeEnd
		})
		if w := r.Event.(*trace.Wait); !strings.Contains(say.Detail(w, r.Start()), detail) || r.Dur <= 0 {
			t.Errorf("%s: %s, %s, want %q", on, say.Detail(w, r.Start()), r.Dur, detail)
		}
	}
	wait(trace.WaitBackoff, "the API server's Retry-After", "get configmaps: status 429, retry in 1")
	if call := a.record("a call that is to be repeated", func(r *trace.Record) bool {
		c, ok := r.Event.(*trace.APICall)
		return ok && r.Pod.Name == "p" && c.Code == http.StatusTooManyRequests && c.RetryAfter > 0
	}).Event.(*trace.APICall); call.RetryAfter.Seconds() != 1 {
		t.Errorf("%+v", call)
	}
	f.bad(0)
	s.ready("p")
	wait(trace.WaitTokens, "client throttling", "may send 1 requests per second, 1 at once")
}
