package lab

// AnyDisk are lines of a KubeletConfiguration with which an agent under test behaves the same on
// a disk that is nearly full: nothing counts as pressure, and no image goes for want of room.
const AnyDisk = `imageGCHighThresholdPercent: 100
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
`
