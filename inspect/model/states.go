package model

// StatusState is the state of a pod's status in the API server.
type StatusState string

// The states of statuses.
const (
	StatusWriting    StatusState = "writing"     // a write is in progress
	StatusWaiting    StatusState = "waiting"     // a change waits to be written
	StatusFailing    StatusState = "failing"     // the last write failed, and a change is missing
	StatusPending    StatusState = "pending"     // a change is missing
	StatusDeleted    StatusState = "deleted"     // the pod's object is deleted
	StatusInAPI      StatusState = "in the API"  // everything is written
	StatusNotWritten StatusState = "not written" // nothing was written
)

// VolumeState is the state of a volume. While an operation runs on a mounted volume, it is that operation.
type VolumeState string

// The states of volumes.
const (
	VolumeWaiting    VolumeState = "waiting"    // it waits, for its driver or another volume
	VolumeMounting   VolumeState = "mounting"   // it is being set up
	VolumeUnmounting VolumeState = "unmounting" // it is being torn down
	VolumeFailed     VolumeState = "failed"     // the last operation failed
	VolumeMounted    VolumeState = "mounted"    // it is set up
	VolumeUnmounted  VolumeState = "unmounted"  // it is torn down
	VolumePending    VolumeState = "pending"    // nothing was done yet
)

// SourceState is the state of a source of pods.
type SourceState string

// The states of sources.
const (
	SourceBackingOff SourceState = "backing off" // it failed, and waits for the next attempt
	SourceFailing    SourceState = "failing"     // as a whole it does not deliver
	SourceReading    SourceState = "reading"     // it reads its first set
	SourceWaiting    SourceState = "waiting"     // it has delivered nothing yet
	SourceWithErrors SourceState = "with errors" // some of its manifests are invalid
	SourceGood       SourceState = "good"        // it delivers
)
