package image

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestEnsured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		p := newPuller(t, Config{Service: n, QPS: 5, Burst: 10})
		ask := func(image string, policy v1.PullPolicy) {
			_, _ = p.Ensure(t.Context(), Request{PodUID: "u", Container: "web", Image: image, Policy: policy}) // the counts say how it ended
		}
		ask(app, v1.PullNever)
		ask(app, v1.PullIfNotPresent)
		n.has(app)
		ask(app, v1.PullIfNotPresent)
		ask(app, v1.PullIfNotPresent)
		ask(app, v1.PullAlways)
		ask(app, "Sometimes")
		ask("A B", v1.PullIfNotPresent)
		n.blind = errors.New("gone")
		ask(app, v1.PullNever)
		want := map[Ensured]uint64{
			{v1.PullNever, no, unknown}: 1, {v1.PullIfNotPresent, no, yes}: 1, {v1.PullIfNotPresent, yes, no}: 2, {v1.PullAlways, unknown, yes}: 1,
			{"", unknown, unknown}: 1, {v1.PullIfNotPresent, unknown, unknown}: 1, {v1.PullNever, unknown, unknown}: 1,
		}
		if d := cmp.Diff(want, p.Ensured()); d != "" {
			t.Error(d)
		}
	})
}
