// Package auth says who asks the agent's server, and whether they may.
//
// It owns the authenticators (client certificates, bearer tokens through TokenReview, anonymous)
// and the authorizer (SubjectAccessReview, or AlwaysAllow) with their caches. It never serves anything. It is
// small on purpose: k8s.io/apiserver's delegating authenticators bring CEL and OpenTelemetry along.
//
// It runs no goroutine of its own but those of reviews under way, which outlive the request that
// asked first, for the others that wait for the same. It publishes nothing: the server publishes the verdicts with the
// request, and the client its API calls.
//
// Upstream: pkg/kubelet/server/auth.go, cmd/kubelet/app/auth.go.
package auth
