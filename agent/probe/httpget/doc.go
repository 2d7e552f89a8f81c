// Package httpget makes the HTTP requests that manifests describe, for probes and hooks.
//
// It owns how a URL, a port by name, headers and redirects are understood. It never
// sends anything, keeps no state, runs no goroutine and publishes nothing.
package httpget
