// Package pleg is the pod lifecycle event generator. It learns of changes of pods from the runtime's event stream, with relisting
// as the safety net, or by relisting only if the runtime has no events.
//
// It owns the pod cache: the newest [podstate.Pod] of each pod. It never acts on a pod and never decides; it reports changes.
//
// It runs one goroutine for the stream and one for relists, both inside Run.
// It publishes PLEGRelist, PLEGEvent and PLEGMode.
//
// Upstream: pkg/kubelet/pleg, KEP-3386 (evented PLEG).
package pleg
