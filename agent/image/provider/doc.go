// Package provider asks exec credential providers for registry logins.
//
// It owns their configuration, the calls of their binaries and the cache of what they
// answered. It never stores a login or token, and never lets either into a message. A
// provider that fails is reported and has no logins: the pull continues with others, or none.
//
// A call runs in a goroutine of its own, which ends with it; those that ask the same thing
// meanwhile share it. It publishes a Wait of kind credentials for each pod that waits for
// one, and Log for failures.
//
// Upstream: pkg/credentialprovider/plugin.
package provider
