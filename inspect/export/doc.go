// Package export writes what was learned of a pod's start, or the records of a whole
// session, in formats that others read.
//
// It owns the formats: text, JSON, SVG, HTML and Markdown of a waterfall, and of records
// Perfetto's trace format and OTLP. Each is one function from data to a writer. What it
// writes needs no network and runs no code but the few lines of the HTML's own script;
// text of others (names, errors) is escaped, and control characters never get through.
// It measures nothing and judges nothing: figures and reasons are the waterfall's.
// It reads no clock, runs no goroutine and publishes nothing.
package export
