// Package cri is the connection to the container runtime: dialing, the check that it supports CRI v1, default
// deadlines, and the interceptors that publish every call.
//
// It owns one gRPC connection per endpoint. It never decides what to call, never retries and never caches.
//
// It runs no goroutines except gRPC's. It publishes CRICall begin/end for each unary call and for the opening of each
// stream. Calls carry W3C trace context, so a runtime's own spans join the caller's trace.
package cri
