// Package collector runs a real OpenTelemetry Collector, which test/lab builds. Its own tests send spans of pod starts to one, and read them
// back from its file. A Collector owns its process and its file; it publishes nothing.
package collector
