package views

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

func (p *Resources) newRefused() {
	p.refused = list[model.Refusal]{Look: p.Look, pod: func(r model.Refusal) trace.Pod { return r.Pod }}
	reason := text("reason", 12, 2, 0, func(r model.Refusal) string { return p.Theme.Clean(cmp.Or(r.Code, "refused")) })
	why := text("why", 14, 3, 0, p.whyRefused)
	why.Compare, why.Whole, reason.Whole = nil, 60, 24
	pod := text("refused pod", 14, 1, 0, func(r model.Refusal) string { return p.Theme.Clean(cmp.Or(r.Pod.String(), r.Pod.UID)) })
	pod.Whole = 30
	p.refused.tbl = newTable(p.Look, table.Config[model.Refusal]{
		Columns: []table.Column[model.Refusal]{
			pod,
			toned(reason, func(model.Refusal) style.Tone { return style.Fail }),
			why,
			clock(p.Look, "time", 1, func(r model.Refusal) time.Time { return r.At }),
		},
		ID:     func(r model.Refusal) string { return strconv.FormatUint(r.Seq, 10) },
		Text:   func(r model.Refusal) string { return r.Pod.String() + " " + r.Code + " " + p.whyRefused(r) },
		Failed: func(model.Refusal) bool { return true },
		Fields: ofPod(func(r model.Refusal) trace.Pod { return r.Pod }),
		Empty:  "no pod was refused",
	})
	p.refused.open = p.refusedDetails
}

// whyRefused is the reason in a line: what each manager could give, if that is known.
func (p *Resources) whyRefused(r model.Refusal) string {
	var out []string
	for i := range r.Hints {
		if r.Hints[i].Resource != "" {
			out = append(out, say.Hints(&r.Hints[i]))
		}
	}
	if len(out) == 0 {
		return p.Theme.Clean(r.Message)
	}
	return p.Theme.Clean(strings.Join(out, "; "))
}

// refusedDetails opens all that is known of a refusal.
func (p *Resources) refusedDetails(r model.Refusal) tea.Cmd {
	f := facts{th: p.Theme}
	f.add("pod", cmp.Or(r.Pod.String(), r.Pod.UID), style.Plain)
	f.add("container", r.Container, style.Plain)
	f.add("time", p.Scene.Time(r.At), style.Plain)
	f.add("reason", r.Code, style.Fail)
	f.add("message", r.Message, style.Fail)
	if r.Resource != "" {
		f.add("devices", strconv.Itoa(r.Count)+" "+r.Resource, style.Plain)
	}
	f.add("policy", r.Policy, style.Plain)
	f.add("scope", r.Scope, style.Plain)
	f.add("chosen", r.Affinity, style.Plain)
	if len(r.Hints) > 0 {
		f.head("what each manager could give")
	}
	for i := range r.Hints {
		h := &r.Hints[i]
		if h.Resource == "" {
			f.add(h.Provider, "this one failed", style.Fail)
			continue
		}
		f.add(h.Provider, say.Hints(h), toneIf(h.Preferred == "" && !h.Any, style.Fail))
	}
	f.lines = append(f.lines, Text{}, Text{Line: "w in the list says what to do about it", Tone: style.Dim})
	name := p.Theme.Clean(r.Pod.String())
	return send(Open{NewPager(p.Look, "refusal", name+"  "+p.Theme.Clean(r.Code), f.lines).Of(name)})
}
