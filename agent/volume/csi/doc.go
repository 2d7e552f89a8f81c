// Package csi is the volume plugin kubernetes.io/csi: volumes of CSI drivers.
//
// It owns the list of registered drivers, the calls to them, the paths where their volumes are staged and published,
// the files (vol_data.json) that a later agent needs to tear them down, and the drivers in the CSINode object and in
// the node's annotation. The layout and the files are upstream's. It never attaches or detaches a volume: it waits for
// the controller. It never removes anything that is still mounted.
//
// A volume that several pods share is staged once. Its users are read from the pods' directories, so they are known
// after a restart too; one volume has one changing call at a time.
//
// A [Health] asks the drivers about the health of volumes and of their storage backends, beside all operations.
//
// It runs no goroutine but Run, which writes the CSINode object, one for each driver that Run is asking for its number of volumes, and those
// of a Health: its Run, and for each driver that is being asked one, with at most four for its calls. It publishes CSICall begin/end around
// each call of a driver,
// Wait begin/end while a volume is not attached, is in use by another pod's operation, or was found on disk and its
// driver has not registered yet, and a Decision for each change of the health of a volume or a storage backend.
//
// It differs from upstream on purpose: a CSIDriver object is read for nodeAllocatableUpdatePeriodSeconds when the driver registers, then
// every five minutes, and every minute while the period is shorter than that; upstream watches these objects.
//
// Upstream: pkg/volume/csi.
package csi
