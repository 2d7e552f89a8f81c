// Package trace has the events of the node: typed events, the records that contain them, the bus that stores them and
// the cursors that read them. Every view of kubeloupe is a fold over these records.
//
// It owns the event types, span and trace IDs (W3C), the in-memory ring and the one JSON encoding used on stdout, in
// files and on sockets.
//
// It never blocks or controls publishers, and never fails; it uses no other part of kubeloupe and no Kubernetes types,
// only strings, numbers and times.
//
// It runs no goroutine. It publishes nothing itself: components do.
//
// Guarantees:
//   - Records get consecutive sequence numbers in the order of publishing.
//   - Publish holds one short lock and allocates nothing once the ring is warm.
//   - A reader that falls behind loses the oldest records and is told exactly
//     how many; it never delays the publisher or another reader.
//   - A reader's record is its own copy and never changes.
//   - A nil *Bus accepts and drops everything.
package trace

//go:generate go run ./internal/gendoc -o ../docs/events.md
