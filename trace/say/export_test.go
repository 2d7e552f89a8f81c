package say

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSpanExport(t *testing.T) {
	for _, c := range []struct {
		e    trace.SpanExport
		want string
	}{
		{trace.SpanExport{Endpoint: "c:4317", State: trace.ExportSending, Sent: 40}, "spans to c:4317: 40 sent"},
		{
			trace.SpanExport{Endpoint: "c:4317", State: trace.ExportFailing, Sent: 40, Queued: 7, Refused: 2, Dropped: 3, Skipped: 1, Err: "Unavailable: connection refused"},
			"spans to c:4317 cannot be sent: 40 sent, 7 queued, 2 refused, 3 dropped, 1 syncs skipped: Unavailable: connection refused",
		},
		{trace.SpanExport{Endpoint: "c:4317", State: trace.ExportEnded, Dropped: 3}, "spans to c:4317: 0 sent, 3 dropped; the export has ended"},
	} {
		if got := SpanExport(&c.e); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
