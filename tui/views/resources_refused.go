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
	p.refused = list[*model.Refusal]{Look: p.Look, pod: func(r *model.Refusal) trace.Pod { return r.Pod }}
	fields := ofPod(func(r *model.Refusal) trace.Pod { return r.Pod })
	fields["reason"] = func(r *model.Refusal) string { return r.Code }
	pod := text("refused pod", 14, 1, 0, func(r *model.Refusal) string { return p.Theme.Clean(cmp.Or(r.Pod.String(), r.Pod.UID)) })
	pod.Whole = 30
	why := table.Column[*model.Refusal]{Title: "why", Width: 30, Flex: 3, Cell: p.refusedCell}
	p.refused.tbl = newTable(p.Look, table.Config[*model.Refusal]{
		Columns: []table.Column[*model.Refusal]{
			pod,
			why,
			clock(p.Look, "time", 1, func(r *model.Refusal) time.Time { return r.At }),
		},
		ID:     func(r *model.Refusal) string { return strconv.FormatUint(r.Seq, 10) },
		Text:   func(r *model.Refusal) string { return r.Pod.String() + " " + r.Code + " " + p.whyRefused(r) },
		Failed: func(*model.Refusal) bool { return true },
		Fields: fields,
		Empty:  "no pod was refused",
	})
	p.refused.open = p.refusedDetails
}

// refusedCell is the reason in the pod's status, and what is behind it.
func (p *Resources) refusedCell(r *model.Refusal) table.Cell {
	code, why := p.Theme.Clean(cmp.Or(r.Code, "refused")), "  "+p.whyRefused(r)
	return table.Cell{Text: code + why, Parts: []table.Cell{{Text: code, Tone: style.Fail}, {Text: why}}}
}

// whyRefused is the reason in a line: what each manager could give, if that is known.
func (p *Resources) whyRefused(r *model.Refusal) string {
	var out []string
	for i := range r.Hints {
		if r.Hints[i].Resource != "" {
			out = append(out, hint(&r.Hints[i]))
		}
	}
	if len(out) == 0 {
		return p.Theme.Clean(r.Message)
	}
	return p.Theme.Clean("NUMA nodes for " + strings.Join(out, ", "))
}

// hint is a resource with the sets of NUMA nodes that are preferred for it, in short.
func hint(h *trace.ResourceHints) string {
	switch {
	case h.Preferred != "":
		return h.Resource + ": " + h.Preferred
	case h.Possible != "":
		return h.Resource + ": " + h.Possible + " not preferred"
	case h.Any:
		return h.Resource + ": any"
	}
	return h.Resource + ": none"
}

// refusedDetails opens all that is known of a refusal.
func (p *Resources) refusedDetails(r *model.Refusal) tea.Cmd {
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
			f.lines = append(f.lines, Text{Line: p.Theme.Clean("the " + h.Provider + " manager failed"), Tone: style.Fail})
			continue
		}
		text := say.Hints(h) + " (" + h.Provider + " manager)"
		f.lines = append(f.lines, Text{Line: p.Theme.Clean(text), Tone: toneIf(h.Preferred == "" && !h.Any, style.Fail), Indent: 2})
	}
	f.lines = append(f.lines, Text{}, Text{Line: "w in the list says what to do about it", Tone: style.Dim})
	name := p.Theme.Clean(r.Pod.String())
	return send(Open{NewPager(p.Look, "refusal", name+"  "+p.Theme.Clean(r.Code), f.lines).Of(name)})
}
