package model

// StatusState is how a pod's status stands with the API server.
type StatusState string

// The states of statuses.
const (
	StatusWriting    StatusState = "writing"     // a write is under way
	StatusWaiting    StatusState = "waiting"     // a change waits to be written
	StatusFailing    StatusState = "failing"     // the last write failed, and a change is missing
	StatusPending    StatusState = "pending"     // a change is missing
	StatusDeleted    StatusState = "deleted"     // the pod's object is deleted
	StatusInAPI      StatusState = "in the API"  // all is written
	StatusNotWritten StatusState = "not written" // nothing was
)

// VolumeState is how a volume stands. While an operation runs on a mounted volume, it is that operation.
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

// SourceState is how a source of pods stands.
type SourceState string

// The states of sources.
const (
	SourceBackingOff SourceState = "backing off" // it failed, and waits until it tries again
	SourceFailing    SourceState = "failing"     // as a whole it does not deliver
	SourceReading    SourceState = "reading"     // it reads its first set
	SourceWaiting    SourceState = "waiting"     // it has delivered nothing yet
	SourceWithErrors SourceState = "with errors" // a part of what it has cannot be used
	SourceGood       SourceState = "good"        // it delivers
)
