package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
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
		name          string
		named         []string
		want, missing []string
	}{
		{name: "none"},
		{name: "one that is there, and one without a name", named: []string{"", "app"}, want: []string{"app"}},
		{name: "one that is missing", named: []string{"gone", "app"}, want: []string{"app"}, missing: []string{"gone"}},
		{name: "one that cannot be asked for", named: []string{"away", "app", "gone"}, want: []string{"app"}, missing: []string{"away", "gone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, rec := &book{}, tracetest.New(t)
			found, missing, err := NewPullSecrets(cluster{}, b, rec.Bus()).Of(t.Context(), podWithSecrets(c.named...))
			var got []string
			for _, s := range found {
				got = append(got, s.Name)
			}
			if diff := cmp.Diff(c.want, got) + cmp.Diff(c.missing, missing); diff != "" || err != nil || len(b.said) > 0 {
				t.Errorf("error %v, events %q; secrets and missing ones (-want +got)\n%s", err, b.said, diff)
			}
			var logged []string
			for _, l := range tracetest.Events[trace.Log](rec) {
				logged = append(logged, strings.Fields(l.Message)[2])
			}
			if diff := cmp.Diff(c.missing, logged); diff != "" {
				t.Errorf("in the trace (-want +got)\n%s", diff)
			}
		})
	}
	var alone *PullSecrets
	if got, missing, err := alone.Of(t.Context(), podWithSecrets("app")); got != nil || missing != nil || err != nil {
		t.Errorf("without a cluster: got %v, %v, %v, want nothing", got, missing, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := NewPullSecrets(cluster{}, &book{}, nil).Of(ctx, podWithSecrets("away")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// An event names the missing secrets only if a pull failed, which they may have caused.
func TestTellPullSecrets(t *testing.T) {
	failed := fmt.Errorf("volume: %w", &Error{Reason: ErrImagePull})
	for _, c := range []struct {
		missing []string
		err     error
		want    []string
	}{
		{missing: []string{"gone", "away"}},
		{err: failed},
		{missing: []string{"gone"}, err: &Error{Reason: ImagePullBackOff}},
		{missing: []string{"gone"}, err: errors.New("no runtime")},
		{missing: []string{"gone", "away"}, err: failed, want: []string{
			"p/ Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (gone, away); attempting to pull the image may not succeed.",
		}},
	} {
		b := &book{}
		told := NewPullSecrets(cluster{}, b, nil).Tell(t.Context(), podWithSecrets(), c.missing, c.err)
		if diff := cmp.Diff(c.want, b.said); diff != "" || told != (len(c.want) > 0) {
			t.Errorf("missing %q, error %v: told %t, events (-want +got)\n%s", c.missing, c.err, told, diff)
		}
	}
	var alone *PullSecrets
	if alone.Tell(t.Context(), podWithSecrets(), []string{"gone"}, failed) {
		t.Error("without a cluster, there is an event")
	}
}

func podWithSecrets(names ...string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
	for _, name := range names {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, v1.LocalObjectReference{Name: name})
	}
	return pod
}
