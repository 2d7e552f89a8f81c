// Package printer writes records to a stream that is not a terminal: one line of
// text per event worth a line, or every record as a JSON line.
//
// It owns those two formats. Long prose is cut in text, never in JSON. It writes no
// escape codes: foreign text is kept on its line, and what acts on terminals in it is escaped.
// It starts no goroutine (Run pumps in the caller's) and publishes nothing.
//
// Worth a line of text are: what the agent and its PLEG turn to; pods added,
// changed and removed by a source; errors in manifests; milestones; pods that
// succeeded or failed; actions on sandboxes and containers when they end, other
// actions when they fail or take 100 ms; pulls when they end; back-offs when they
// begin; other waits of 100 ms when they end (a grace period is in its kill, what a probe waits for in its attempts); steps
// of a person; containers that ended; decisions that change something (not: keep, admit); collections that
// removed something; what changed of the node or its runtime, and a certificate that takes another's place; warnings; attempts of probes that failed, and the one with which
// a probe first succeeds; changes to many files of a volume, when done; syncs, CRI, CSI
// and API calls, requests, relists, volumes, statuses and cgroups that failed; log lines
// above debug. Everything else, such as loop iterations and each
// CRI call, is in the JSON.
package printer
