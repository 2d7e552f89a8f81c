package report

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// maxLoops is how many iterations are shown.
const maxLoops = 50

func makeLoop(m *model.Model, args Args) (*Table, error) {
	t := &Table{None: "No iterations.", Columns: []Column{
		{Name: "N", Key: "n", Right: true},
		{Name: "AGO", Key: "begun", Right: true},
		{Name: "CASE", Key: "case"},
		{Name: "OP", Key: "op"},
		{Name: "PODS", Key: "pods", Right: true, Drop: 1},
		{Name: "IDLE", Key: "idle_ns", Right: true, Drop: 2},
		{Name: "TOOK", Key: "dur_ns", Right: true},
		{Key: "running"},
		{Name: "DETAIL", Key: "detail", Long: true},
		{Name: "CAUSED", Key: "caused", Long: true},
	}}
	loops := m.Loops()
	for _, l := range loops[max(0, len(loops)-maxLoops):] {
		dur := took(l.Dur)
		if l.Running {
			dur = Value{text: "runs"}
		}
		t.add(number(l.N), ago(l.Begin, args.Now), str(l.Case), str(l.Op), count(l.Pods), took(l.Idle), dur, yes(l.Running),
			text(l.Detail), caused(&l))
	}
	return t, nil
}

// caused lists what an iteration led to.
func caused(l *model.Loop) Value {
	var out []string
	for _, e := range l.Caused {
		out = append(out, say.Named(e.Pod, e.Event))
	}
	if more := l.Children - len(l.Caused); more > 0 {
		out = append(out, noise.Of(fmt.Sprintf("%d more", more)))
	}
	return list(out)
}
