package resize

import (
	"context"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/trace"
)

// generations has the reasons and the generations of Events.
type generations struct {
	events.Publisher
	said []string
}

func (g *generations) Pod(_ context.Context, _ *v1.Pod, _, _, reason, message string) {
	g.said = append(g.said, reason+" "+regexp.MustCompile(`"generation":(\d+)`).FindStringSubmatch(message)[1])
}

// The Events of a resize have the generation that requested it, although the pod's spec has changed since.
func TestGenerationOfEvents(t *testing.T) {
	g := &generations{}
	m, err := New(Config{Dir: t.TempDir(), Events: g, Admit: func(p *v1.Pod, _ []*v1.Pod) Verdict {
		return Verdict{Fits: cpu(p) != "3", Reason: "OutOfcpu", Message: "Node didn't have enough resource: cpu"}
	}})
	if err != nil {
		t.Fatal(err)
	}
	m.Add(podWith("1", 1))
	m.Update(t.Context(), podWith("2", 2), nil, trace.ResizeForUpdated)
	newest, _ := m.Update(t.Context(), podWith("3", 3), nil, trace.ResizeForUpdated)
	m.Failed(t.Context(), newest, "busy")
	m.Failed(t.Context(), newest, "busy")
	m.Failed(t.Context(), newest, "too small")
	m.Done(t.Context(), newest)
	m.Done(t.Context(), newest)
	m.Failed(t.Context(), newest, "busy") // without a resize under way
	want := []string{"ResizeStarted 2", "ResizeDeferred 3", "ResizeError 2", "ResizeError 2", "ResizeCompleted 2", "ResizeError 3"}
	if d := cmp.Diff(want, g.said); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
