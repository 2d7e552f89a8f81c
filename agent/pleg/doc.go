// Package pleg is the pod lifecycle event generator. It learns what the runtime
// does with pods: from the runtime's event stream first, by relisting as the safety
// net, and by relisting alone where the runtime has no events.
//
// It owns the pod cache: the newest [observe.Pod] of each pod. It never acts on a
// pod and never decides; it says what changed.
//
// It runs one goroutine for the stream and one for relists, both inside Run.
// It publishes PLEGRelist, PLEGEvent and PLEGMode.
//
// Upstream: pkg/kubelet/pleg, KEP-3386 (evented PLEG).
package pleg
