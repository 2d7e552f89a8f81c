// Package fieldpath reads single values out of a pod for the downward API: what a container
// sees through env fieldRef and resourceFieldRef, and through downwardAPI volumes.
//
// It owns the list of supported paths and how each value is written as text, exactly as the
// kubelet writes it. It never fetches anything: what the pod object does not hold (addresses,
// node allocatable) comes in as an argument. It runs no goroutine and publishes no event.
package fieldpath
