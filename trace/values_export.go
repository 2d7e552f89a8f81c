package trace

// ExportState is the state of the export of spans.
type ExportState string

// The states.
const (
	ExportSending ExportState = "sending" // the last request succeeded
	ExportFailing ExportState = "failing" // the last request failed
	ExportEnded   ExportState = "ended"   // nothing more is sent
)
