package causes_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
)

// requestsWait: the kubelet requests six tokens for one pod, one per second. Another pod has a Secret, which the kubelet watches, and watches do
// not wait (client-go/rest/request.go); one has neither.
func requestsWait(u *upstream) {
	core := u.client.CoreV1()
	ctx := u.t.Context()
	if _, err := core.ServiceAccounts("default").Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{}); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		_ = core.ServiceAccounts("default").Delete(context.Background(), "web", metav1.DeleteOptions{})
	})
	_, err := core.Secrets("default").Create(ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = core.Secrets("default").Delete(context.Background(), "keys", metav1.DeleteOptions{}) })
	u.set(hasTokens("web", 6), mounts("near", "keys"), podOf("none"))
	u.reached("web", "started")
	u.reached("near", "started")
	u.reached("none", "started")
	eventually(u.t, "the pods' statuses, which wait like other requests", func() (bool, error) {
		list, err := core.Pods("default").List(ctx, metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(list.Items, func(p v1.Pod) bool { return p.Status.StartTime == nil }), err
	})
	pods := u.outside.dump(u.t)
	for pod, want := range map[string]bool{"web": true, "near": false, "none": false} {
		for _, from := range [][]*part{u.outside.logs[:1], u.outside.logs} {
			for _, also := range [][]string{nil, {pods}} {
				r := u.outside.why(u.t, pod, from, also...)
				i := slices.IndexFunc(r.Findings, func(f cause.Finding) bool { return f.ID == "KL12" })
				switch want := want && len(also) > 0; { // without the spec, it is not known whose token it is
				case want != (i >= 0):
					u.t.Errorf("KL12 of %s, from %d logs and %d dumps: %+v", pod, len(from), len(also), r.Findings)
				case want && (r.Findings[i].Confidence != cause.Likely || r.Findings[i].Cost < 3*time.Second):
					u.t.Errorf("KL12 of %s, from %d logs: %+v", pod, len(from), r.Findings[i])
				}
			}
		}
	}
	u.silent("near", append(starts(), "KL10", "KL11")...)
	u.silent("none", append(starts(), "KL10", "KL11")...)
}

// hasTokens is a pod with tokens of the service account web, each in a volume of its own.
func hasTokens(name string, n int64) *v1.Pod {
	p := podOf(name)
	p.Spec.ServiceAccountName = "web"
	for i := range n {
		volume := fmt.Sprint("token-", i)
		token := &v1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(3600 + i)} // each differs, else the kubelet has it already
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: volume, VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
			Sources: []v1.VolumeProjection{{ServiceAccountToken: token}},
		}}})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: volume, MountPath: "/" + volume})
	}
	return p
}
