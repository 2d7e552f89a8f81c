package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func makeVolumes(m *model.Model, args Args) (*Table, error) { return volumesOf(m, args), nil }

func volumesOf(m *model.Model, args Args) *Table {
	t := &Table{None: "No volumes.", Columns: []Column{
		{Name: "POD", Key: "pod", Ends: true},
		{Name: "VOLUME", Key: "volume", Ends: true},
		{Name: "STATE", Key: "state"},
		{Name: "PLUGIN", Key: "plugin"},
		{Name: "SETUP TOOK", Key: "setup_ns", Right: true, Drop: 1},
		{Name: "LAST OP", Key: "op", Drop: 2},
		{Name: "AGO", Key: "since", Right: true, Drop: 3},
		{Name: "PATH", Key: "path", Wide: true},
		{Name: "NOTE", Key: "note", Long: true},
	}}
	for _, v := range m.Volumes() {
		if args.wants(v.Pod) {
			t.add(str(v.Pod.String()), str(v.Name), str(v.State()), str(strings.TrimPrefix(v.Plugin, "kubernetes.io/")), took(v.Setup),
				str(v.Op), ago(v.Since, args.Now), str(v.Path), text(volumeNote(&v, args.Now)))
		}
	}
	return t
}

// volumeNote says what a volume waits for, how far it is, or why it failed.
func volumeNote(v *model.Volume, now time.Time) string {
	switch {
	case len(v.Waits) > 0:
		w := v.Waits[0]
		return strings.TrimSpace(say.WaitsFor(&w.Wait, now.Sub(w.Since)) + " " + w.Detail())
	case v.Running && v.Progress != nil:
		return say.Files(v.Progress)
	}
	for i := range v.Calls {
		if c := &v.Calls[i]; c.Running {
			return fmt.Sprintf("%s of %s, %s", c.Method, c.Driver, human.Duration(max(now.Sub(c.Begin), 0)))
		}
	}
	if v.Err == "" && v.Unhealthy != "" {
		return "unhealthy: " + v.Unhealthy
	}
	return v.Err
}
