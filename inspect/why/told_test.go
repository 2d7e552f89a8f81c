package why

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
)

// kubectl describe shows a pod's own Events, and not those of its claims.
func TestToldOfThePodOnly(t *testing.T) {
	var c cause.Case
	for _, e := range []trace.NodeEvent{
		{Type: trace.EventWarning, Reason: "FileSystemResizeFailed", Message: "read-only"},
		{Type: trace.EventWarning, Reason: "FileSystemResizeFailed", Message: "read-only", Object: "persistentvolumeclaim/data"},
	} {
		c.Records = append(c.Records, trace.Record{Event: &e})
	}
	var r Report
	r.told(&c)
	if len(r.Warnings) != 1 || r.Warnings[0].Count != 1 || r.Warnings[0].Message != "read-only" {
		t.Errorf("%+v", r.Warnings)
	}
}
