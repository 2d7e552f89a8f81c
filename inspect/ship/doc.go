// Package ship sends what happened to pods to a tracing backend: each pod's start, each slow or failed sync and each run of the garbage
// collection becomes a tree of spans (inspect/export), with the causes of inspect/why as events, sent over OTLP with gRPC. It reads a bus,
// so an agent's own records are sent, and those of a kubelet that attach watches, with who observed them.
//
// It owns which of them are sent (all slow and failed ones, of the others those that the sampling rate selects), and a queue that is limited
// in spans and bytes; what has to wait is compressed. A collector that is slow, away or refuses costs spans and never a pod's time: nothing waits for the queue, and what has
// no room is dropped, ordinary spans before those of slow and failed starts, and counted. What could not be sent is tried again with
// back-off, or after the time that the collector asked for. At the end, what is there is sent within Config.Flush.
//
// Run has two goroutines: one follows the bus and makes the trees, one at a time, one sends. It publishes SpanExport and reads the clock. The
// connection is that of go.opentelemetry.io/otel's exporter (Dial).
package ship
