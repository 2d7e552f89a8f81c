package trace

// SpanExport reports how spans are sent to a collector (OpenTelemetry). It is published when the first spans are sent, when sending begins to
// fail and succeeds again, at the end, and at most once a minute while the counts change. Counts are of spans, since the start.
type SpanExport struct {
	// Endpoint is the address of the collector.
	Endpoint string      `json:"endpoint"`
	State    ExportState `json:"state"`
	// Sent were taken by the collector.
	Sent uint64 `json:"sent"`
	// Refused were not taken, and are not sent again.
	Refused uint64 `json:"refused,omitempty"`
	// Dropped were removed from the queue, because it was full or the sender ended.
	Dropped uint64 `json:"dropped,omitempty"`
	// Skipped is the number of starts and of slow or failed syncs of which no spans were made, because there were too many.
	Skipped uint64 `json:"skipped_syncs,omitempty"`
	// Queued is the number of spans that wait.
	Queued int `json:"queued,omitempty"`
	// Err is the latest error, if sending fails.
	Err string `json:"err,omitempty" scrub:"text"`
}
