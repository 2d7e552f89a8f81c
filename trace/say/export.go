package say

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// SpanExport describes how spans are sent to a collector.
func SpanExport(e *trace.SpanExport) string {
	counts := []string{fmt.Sprintf("%d sent", e.Sent)}
	for _, c := range []struct {
		n    uint64
		what string
	}{{uint64(max(e.Queued, 0)), "queued"}, {e.Refused, "refused"}, {e.Dropped, "dropped"}} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if e.Skipped > 0 {
		counts = append(counts, fmt.Sprintf("%d syncs skipped", e.Skipped))
	}
	text := "spans to " + e.Endpoint + ": " + strings.Join(counts, ", ")
	switch e.State {
	case trace.ExportFailing:
		text = "spans to " + e.Endpoint + " cannot be sent: " + strings.Join(counts, ", ")
	case trace.ExportEnded:
		text += "; the export has ended"
	case trace.ExportSending:
	}
	return noise.Of(join(text, e.Err))
}
