// Package httpget creates the HTTP requests of manifests, for probes and hooks.
//
// It owns the interpretation of URLs, named ports, headers and redirects. It never sends anything, keeps no state, runs
// no goroutine and publishes nothing.
package httpget
