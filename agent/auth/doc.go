// Package auth authenticates and authorizes the clients of the agent's server.
//
// It owns the authenticators (client certificates, bearer tokens through TokenReview, anonymous) and the authorizer
// (SubjectAccessReview, or AlwaysAllow) with their caches, and counts what the cache of tokens does. It never serves
// anything. It does not use k8s.io/apiserver's delegating authenticators, because these import CEL and OpenTelemetry.
//
// It runs a goroutine for each review in progress. A review continues after the first request has ended, for other requests that
// wait for the same review. It publishes nothing: the server publishes the verdicts with the request, and the client its API calls.
//
// Upstream: pkg/kubelet/server/auth.go, cmd/kubelet/app/auth.go.
package auth
