package image

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cluster has the Secret app; requests for away fail, and no others exist.
type cluster struct{}

func (cluster) Secret(_ context.Context, namespace, name string) (*v1.Secret, error) {
	switch name {
	case "app":
		return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, nil
	case "away":
		return nil, errors.New("no route to host")
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

func TestPullSecrets(t *testing.T) {
	for _, c := range []struct {
		name  string
		named []string
		want  []string
		told  []string
		fails bool
	}{
		{name: "none"},
		{name: "one that is there, and one without a name", named: []string{"", "app"}, want: []string{"app"}},
		{
			name: "one that is missing", named: []string{"gone", "app"}, want: []string{"app"},
			told: []string{"p/ Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed."},
		},
		{name: "one that cannot be asked for", named: []string{"app", "away"}, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
			for _, name := range c.named {
				pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, v1.LocalObjectReference{Name: name})
			}
			b := &book{}
			found, err := NewPullSecrets(cluster{}, b).Of(t.Context(), pod)
			var got []string
			for _, s := range found {
				got = append(got, s.Name)
			}
			if diff := cmp.Diff(c.want, got) + cmp.Diff(c.told, b.said); diff != "" || (err != nil) != c.fails {
				t.Errorf("error %v, want one: %v; secrets and events (-want +got)\n%s", err, c.fails, diff)
			}
		})
	}
	var alone *PullSecrets
	if got, err := alone.Of(t.Context(), &v1.Pod{Spec: v1.PodSpec{ImagePullSecrets: []v1.LocalObjectReference{{Name: "app"}}}}); got != nil || err != nil {
		t.Errorf("without a cluster: got %v, %v, want nothing", got, err)
	}
}
