package views

import (
	"iter"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// node is one span, or one point, with what it caused.
type node struct {
	rec      *trace.Record // its end where there is one, else its begin
	begin    int64
	open     bool
	children []*node
}

// causes returns what a span caused as a tree, as far as records tell of it.
// nil when none is of the span itself.
func causes(recs iter.Seq[*trace.Record], root trace.SpanID) *node {
	if root == 0 {
		return nil
	}
	nodes := pair.NewList[node](0)
	for r := range recs {
		parent := nodes.Get(r.Parent)
		if r.Span != root && parent == nil && nodes.Get(r.Span) == nil {
			continue
		}
		n, fresh := nodes.Of(r)
		if !fresh {
			n.rec, n.open = r, false
			continue
		}
		*n = node{rec: r, begin: r.Start(), open: r.Edge == trace.EdgeBegin}
		if parent != nil {
			parent.children = append(parent.children, n)
		}
	}
	return nodes.Get(root)
}

// outline writes a tree as lines: offset, duration, what.
func outline(th *style.Theme, root *node) []Text {
	out := []Text{{Line: th.Right("AT", style.DurWidth+2) + th.Right("TOOK", style.DurWidth+2) + "  WHAT", Tone: style.Dim}}
	var walk func(n *node, lead string, last, top bool)
	walk = func(n *node, lead string, last, top bool) {
		branch, below := "", ""
		if !top {
			branch, below = lead+th.Glyphs.Branch+" ", lead+th.Glyphs.Pipe+" "
			if last {
				branch, below = lead+th.Glyphs.LastChild+" ", lead+"  "
			}
		}
		out = append(out, n.text(th, root.begin, branch, top))
		for i, c := range n.children {
			walk(c, below, i == len(n.children)-1, false)
		}
	}
	walk(root, "", true, true)
	return out
}

func (n *node) text(th *style.Theme, zero int64, lead string, top bool) Text {
	took := ""
	switch {
	case n.open:
		took = "open"
	case n.rec.Edge == trace.EdgeEnd:
		took = style.Dur(n.rec.Dur)
	}
	at := "+" + style.Dur(time.Duration(max(n.begin-zero, 0)))
	line := th.Right(at, style.DurWidth+2) + th.Right(took, style.DurWidth+2) + "  " + lead + what(th, n.rec)
	tone := phase(waterfall.EventStage(n.rec.Event))
	switch {
	case trace.Failure(n.rec.Event) != "":
		tone = style.Fail
	case top:
		tone = style.Strong
	case tone == style.Plain && n.rec.Edge == trace.EdgePoint:
		tone = style.Dim
	}
	return Text{Line: line, Tone: tone}
}

// what writes a record in one clean line: kind, pod, what it is about, what went wrong.
func what(th *style.Theme, r *trace.Record) string {
	parts := []string{th.Clean(say.Named(r.Pod, r.Event))}
	if e := trace.Failure(r.Event); e != "" {
		parts = append(parts, "failed: "+th.Clean(e))
	}
	if by := say.SeenBy(r); by != "" {
		parts = append(parts, "("+by+")")
	}
	return strings.Join(parts, " ")
}
