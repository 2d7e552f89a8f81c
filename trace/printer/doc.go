// Package printer writes records to a stream that is not a terminal: one line of
// text per event worth a line, or every record as a JSON line.
//
// It owns those two formats. Long text is truncated in lines, never in JSON. It writes no escape codes: foreign text cannot begin a
// new line, and control characters are escaped. It starts no goroutine (Run works in the caller's) and publishes nothing.
// The first record after a quiet time is written at once, the next ones together, at most 20 times in a second unless
// an eighth of the ring is unread.
//
// These events have a line of text: state changes of the agent and its PLEG; pods that a source added, changed or removed; errors
// in manifests; milestones; pods that succeeded or failed; actions on sandboxes and containers when they end, other actions when
// they fail or take 100 ms; pulls when they end; back-offs when they begin; other waits of 100 ms when they end (a grace period is
// in its kill, the wait of a probe in its attempts); commands of a step session; containers that exited; decisions that change
// something (not: keep, admit); allocations of CPUs and memory;
// garbage collection runs that removed something; changes of the node or its runtime, and a
// certificate that replaces another one; warnings; probe attempts that failed, and the first one that succeeds; changes to many
// files of a volume, when done; syncs, CRI, CSI and API calls, requests, relists, volumes, statuses and cgroups that failed; log
// lines above debug. Everything else, such as loop iterations and each CRI call, is in the JSON.
package printer
