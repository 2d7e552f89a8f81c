// Package collector sends spans of pod starts to a real OpenTelemetry Collector, which test/lab builds, and reads them back from its file.
package collector
