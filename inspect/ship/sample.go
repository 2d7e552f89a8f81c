package ship

import "github.com/kubeloupe/kubeloupe/trace"

// sampled reports whether an ordinary trace is sent, by its id: every program that samples by the same rate decides alike, as with
// OpenTelemetry's TraceIDRatioBased.
func sampled(id trace.TraceID, perMillion int32) bool {
	if perMillion >= 1_000_000 {
		return true
	}
	return id.Lo>>1 < uint64(float64(max(perMillion, 0))/1e6*(1<<63))
}
