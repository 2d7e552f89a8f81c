package session_test

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestLongRecordsAreShortened has a recording with more text than the limit: late records are short.
func TestLongRecordsAreShortened(t *testing.T) {
	s := session.New(session.Options{Bytes: 1 << 20})
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	size := 0
	for i := range 2000 {
		e := &trace.NodeEvent{Type: trace.EventWarning, Reason: "Unhealthy", Message: strings.Repeat("m", 4096)}
		s.Apply(&trace.Record{Seq: uint64(i + 1), Time: int64(i), Pod: pod, Event: e})
		if len(e.Message) != 4096 {
			t.Fatal("the reader's record was changed")
		}
	}
	recs := s.Runs()[0].Records()
	for i := range recs {
		size += recs[i].Size()
	}
	if len(recs) != 2000 || size > 3<<20 {
		t.Errorf("%d records take %d bytes", len(recs), size)
	}
}
