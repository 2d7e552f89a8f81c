package events

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
)

// hanging is an API server that does not respond about events in the namespace "hung".
type hanging struct{ kubeapi.EventsGetter }

func (h hanging) Events(namespace string) kubeapi.Events {
	if namespace == "hung" {
		return hungEvents{h.EventsGetter.Events(namespace)}
	}
	return h.EventsGetter.Events(namespace)
}

type hungEvents struct{ kubeapi.Events }

func (hungEvents) Create(ctx context.Context, _ *v1.Event, _ metav1.CreateOptions) (*v1.Event, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestHungWrites(t *testing.T) {
	recording(t, func(ctx context.Context, b *bench) {
		b.cfg.Client = hanging{fakeapi.Of(b.client).CoreV1()}
		for i := range 10 {
			p := aPod()
			p.Namespace, p.UID = "hung", ""
			b.Pod(ctx, p, "", "Normal", fmt.Sprint("Hung", i), "what nobody is told")
		}
		b.Pod(ctx, aPod(), "", "Normal", "Started", "Container started")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := b.stored(t); len(got) != 1 {
			t.Errorf("stored: %q, want the one event of the namespace that does not hang", got)
		}
	})
}
