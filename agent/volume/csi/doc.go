// Package csi is the volume plugin kubernetes.io/csi: volumes of drivers that run beside the kubelet.
//
// It owns which drivers are registered, the calls to them, where their volumes are staged and
// published, the notes (vol_data.json) that a later agent needs to take them down, and what the
// CSINode object and the node's annotation say of drivers. Layout and notes are upstream's. It never
// attaches or detaches: it waits until the controller did. It never removes what is still mounted.
//
// A volume that several pods share is staged once. Who uses it is read from the pods' directories,
// so it is known after a restart too; one volume has one call that changes it at a time.
//
// It runs no goroutine but Run, which sees to the CSINode object. It publishes CSICall begin/end
// around each call of a driver, Wait begin/end while a volume is not attached, is in another pod's hands
// or was found and its driver has not registered yet, and a Decision for each driver registered or gone.
//
// Upstream: pkg/volume/csi.
package csi
