package e2e

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

func (a *agent) sourceError(file string) trace.SourceError {
	a.node.t.Helper()
	r := a.wait("an error about "+file, func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.SourceError)
		return ok && strings.HasSuffix(e.Path, "/"+file)
	})
	return *r.Event.(*trace.SourceError)
}

// TestBrokenManifest has a broken manifest beside a good one, then a good one that
// turns bad and good again: pods that run continue, and the error says where it is wrong.
func TestBrokenManifest(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("typo.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: typo}\nspec:\n  containers:\n  - name: main\n    imagee: x\n")
	if e := a.sourceError("typo.yaml"); e.Line != 7 || !strings.Contains(e.Field, "imagee") || e.Kept {
		t.Errorf("unknown field: %+v", e)
	}
	n.put("syntax.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: [\n")
	if e := a.sourceError("syntax.yaml"); e.Line == 0 || e.Message == "" {
		t.Errorf("bad YAML: %+v", e)
	}
	n.put("invalid.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: invalid}\nspec:\n  containers:\n  - {name: Main, image: x}\n")
	if e := a.sourceError("invalid.yaml"); e.Line != 6 || e.Field != "spec.containers[0].name" {
		t.Errorf("bad value: %+v", e)
	}

	n.put("web.yaml", web)
	a.ready("web")
	before := n.runs("web")
	a.mark()
	n.put("web.yaml", web+"    stdin: x\n")
	if e := a.sourceError("web.yaml"); !e.Kept {
		t.Errorf("a manifest that turned bad: %+v, want its earlier version kept", e)
	}
	n.put("web.yaml", web)
	n.put("other.yaml", named("other"))
	a.ready("other")
	after := n.runs("web")
	if len(after) != 1 || after[0] != before[0] {
		t.Errorf("before %v, after %v", before, after)
	}
	if got := a.find(func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && m.Name == trace.MilestoneTerminating && r.Pod.Name == n.pod("web")
	}); len(got) != 0 {
		t.Error("the pod of a manifest that turned bad was ended")
	}
}
