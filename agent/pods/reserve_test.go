package pods

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// giver implements Resources.
type giver struct {
	verdict admission.Verdict
	did     []string
}

func (g *giver) Reserve(_ context.Context, pod *v1.Pod) admission.Verdict {
	g.did = append(g.did, "reserve "+string(pod.UID))
	return g.verdict
}

func (g *giver) Release(uid types.UID) { g.did = append(g.did, "release "+string(uid)) }

// A pod gets its CPUs and memory when it is admitted, and loses them if it is rejected. One that runs already is admitted without them.
func TestReserve(t *testing.T) {
	for _, c := range []struct {
		name    string
		verdict admission.Verdict
		runs    bool
		maxPods int
		did     []string
		refused bool
	}{
		{"admitted", admission.Verdict{OK: true}, false, 1, []string{"reserve u"}, false},
		{"refused", admission.Verdict{Reason: "TopologyAffinityError"}, false, 1, []string{"reserve u", "release u"}, true},
		{"runs already", admission.Verdict{Reason: "TopologyAffinityError"}, true, 1, []string{"reserve u"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, c.maxPods)
			g := &giver{verdict: c.verdict}
			d.cfg.Resources = g
			pod := &v1.Pod{}
			pod.UID, pod.Name, pod.Namespace = "u", "p", "ns"
			if c.runs {
				d.seen["u"] = &podstate.Pod{UID: "u", Sandboxes: []podstate.Sandbox{{ID: "s", Ready: true}}}
			}
			d.send(podsource.OpAdd, pod)
			if !slices.Equal(g.did, c.did) || d.cfg.Store.Refused("u") != c.refused {
				t.Errorf("did %q, refused %t; want %q, %t", g.did, d.cfg.Store.Refused("u"), c.did, c.refused)
			}
		})
	}
}
