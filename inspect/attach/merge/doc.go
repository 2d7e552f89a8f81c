// Package merge makes one stream of what several observers tell: a kubelet's log, the container runtime's log, later a proxy's calls or
// Events of the API.
//
// It owns which records tell of the same thing. Those become one span, with the times of whoever knew them best and what each knew of it;
// [Report] says how many, and where observers disagree by more than their precision. A call below an action that another observer saw too
// becomes that action's, also an image's pull, which names no pod. A span that a kubelet or its runtime sent of a call improves the times of this
// call, and comes out below it. Pods have one identity for all observers, and spans of different
// observers never share an id. Records come out in the order of their times; those that come late by more than the window are not held
// back for.
//
// Anybody may have written what it merges: what waits, and what is known of pods and spans, is bounded. It reads no clock, runs no
// goroutine and publishes nothing.
package merge
