// Package provider gets registry logins from exec credential providers.
//
// It owns their configuration, the calls of their binaries and the cache of their responses. It never stores a login or token, and
// never writes one into a message. A failed provider is reported, and the pull continues with other logins, or without.
//
// A call runs in a separate goroutine; callers with the same request share it. It publishes a Wait of kind credentials for each pod
// that waits for one, and Log for failures.
//
// Upstream: pkg/credentialprovider/plugin.
package provider
