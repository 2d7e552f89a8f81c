package proxy

import (
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A start ends with the last container's, although that it was the last is known later; whether the pod is ready stays unknown.
func TestStartAsSeen(t *testing.T) {
	played(t, func(l *life) {
		l.call(run, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, nil)
		time.Sleep(time.Second)
		l.start("web")
		time.Sleep(3 * quiet)
		trace.Point(l.p.cfg.Bus, trace.Span{}, trace.Log{Message: "end"})
		var recs []trace.Record
		m := model.New(model.Options{})
		for len(recs) == 0 || recs[len(recs)-1].Event.Kind() != (&trace.Log{}).Kind() {
			got, _, err := l.cur.Next(t.Context(), make([]trace.Record, 0, 16))
			if err != nil {
				t.Fatal(err)
			}
			recs = append(recs, got...)
		}
		for i := range recs {
			m.Apply(&recs[i])
		}
		w, err := waterfall.Build(recs, webPod)
		fail(t, err)
		if w.Started != time.Second || w.Ready >= 0 || w.End != time.Second {
			t.Errorf("started after %v, ready after %v, the picture ends at %v", w.Started, w.Ready, w.End)
		}
		if pod, ok := m.Pod(webPod); !ok || pod.State() != model.StateStarted || pod.Start.ToStarted != time.Second {
			t.Errorf("%s, started in %v", pod.State(), pod.Start.ToStarted)
		}
	})
}
