// Package fieldpath reads single values of a pod for the downward API: env fieldRef and resourceFieldRef, and downwardAPI volumes.
//
// It owns the list of supported paths and the text format of each value, exactly as the kubelet writes it. It never fetches
// anything: data that is not in the pod object (addresses, node allocatable) is an argument. It runs no goroutine and publishes no
// event.
package fieldpath
