// Package pleg is the pod lifecycle event generator. It finds changes of pods in the runtime's event stream, with
// relists as the safety net. If the runtime has no events, it only relists.
//
// It owns the pod cache: the newest [podstate.Pod] of each pod. It never acts on a pod and never decides; it reports
// changes.
//
// It runs one goroutine for the stream and one for relists, both inside Run. It publishes PLEGRelist, PLEGEvent and
// PLEGMode.
//
// Upstream: pkg/kubelet/pleg, KEP-3386 (evented PLEG).
package pleg
