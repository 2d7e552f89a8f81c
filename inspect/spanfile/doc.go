// Package spanfile reads one trace back from what a tracing backend exports: the lines that an OpenTelemetry Collector's file exporter
// writes (OTLP as JSON; also kubeloupe trace -o otlp-json), Jaeger's JSON, and Tempo's. Spans that kubeloupe made (inspect/export) become the
// records that they were made from, those of other programs that are part of them become records of the runtime's spans: so the trace is
// drawn and explained as a recording is.
//
// It owns these formats and the way back. Anybody may have written the file: it is read one value at a time with limits, only the spans of
// the trace are kept, and records are cut as all that were not published here. What is not known is left out. It reads no clock, runs no
// goroutine and publishes nothing.
package spanfile
