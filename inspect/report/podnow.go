package report

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func backoffOf(p *model.Pod, args Args) *Table {
	t := &Table{Key: "backoff", Title: "Back-off"}
	if b := &p.Backoff; b.Active() {
		t.fact("On", "on", text(b.On()))
		t.fact("Detail", "detail", text(b.Detail()))
		t.fact("Since", "since", at(b.Since, args.Now))
		t.fact("Until", "until", at(b.Until, args.Now))
	}
	return t
}

func actionsOf(p *model.Pod, args Args) *Table {
	t := &Table{Key: "actions", Title: "Actions in progress", Columns: []Column{
		{Name: "ACTION", Key: "action"},
		{Key: "verb"},
		{Name: "CONTAINER", Key: "container"},
		{Name: "FOR", Key: "since", Right: true},
		{Name: "REASON", Key: "reason", Long: true},
		{Key: "uncertain"},
	}}
	for _, a := range p.Actions {
		t.add(str(a.ID), str(a.Verb), str(a.Container), ago(a.Since, args.Now), text(a.Reason), yes(a.Uncertain))
	}
	return t
}

func waitsOf(p *model.Pod, args Args) *Table {
	t := &Table{Key: "waits", Title: "Waits for", Columns: []Column{
		{Name: "KIND", Key: "kind"},
		{Name: "ON", Key: "on"},
		{Name: "FOR", Key: "since", Right: true},
		{Name: "DETAIL", Key: "detail", Long: true},
		{Key: "uncertain"},
	}}
	for _, w := range p.Waits {
		t.add(str(w.For), text(w.On()), ago(w.Since, args.Now), text(waitDetail(&w, args.Now)), yes(w.Uncertain))
	}
	return t
}

// waitDetail is what is known of a wait, with who it is behind.
func waitDetail(w *model.Wait, now time.Time) string {
	if who := say.Behind(w.Behind, max(now.Sub(w.Since), 0)); who != "" {
		return strings.TrimPrefix(w.Detail()+"; "+who, "; ")
	}
	return w.Detail()
}

func pullsOf(p *model.Pod, args Args) *Table {
	t := &Table{Key: "pulls", Title: "Pulls", Columns: []Column{
		{Name: "IMAGE", Key: "image", Ends: true},
		{Name: "FOR", Key: "since", Right: true},
		{Name: "DONE", Key: "done_bytes", Right: true},
		{Name: "OF", Key: "total_bytes", Right: true},
	}}
	for _, pull := range p.Pulls {
		total := Value{}
		if pull.Total > 0 {
			total = size(pull.Total)
		}
		t.add(str(pull.Image), ago(pull.Since, args.Now), size(pull.Done), total)
	}
	return t
}

func planOf(p *model.Pod, args Args) *Table {
	t := &Table{Key: "plan", Title: "Plan", Columns: []Column{
		{Name: "STEP", Key: "step"}, {Name: "NEEDS", Key: "needs"}, {Name: "REASON", Key: "reason", Long: true},
	}}
	if p.Plan == nil || len(p.Plan.Steps) == 0 {
		return t
	}
	t.fact("Why", "why", text(p.Plan.Why))
	t.fact("Made", "made", at(p.PlanAt, args.Now))
	for _, s := range p.Plan.Steps {
		t.add(str(s.ID), list(s.Needs), text(s.Reason))
	}
	return t
}
