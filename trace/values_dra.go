package trace

// DRAPluginOp is a change of a plugin of a DRA driver.
type DRAPluginOp string

// The changes of plugins of DRA drivers.
const (
	DRARegistered   DRAPluginOp = "registered"   // the plugin registered
	DRARefused      DRAPluginOp = "refused"      // its registration was refused
	DRAConnected    DRAPluginOp = "connected"    // its socket accepts connections
	DRADisconnected DRAPluginOp = "disconnected" // the connection broke, and the agent connects again
	DRAGone         DRAPluginOp = "gone"         // it removed its registration
	DRAWiped        DRAPluginOp = "wiped"        // the driver's ResourceSlices of this node were deleted
)

// ClaimOp is what became of a ResourceClaim.
type ClaimOp string

// What becomes of claims.
const (
	ClaimPrepared    ClaimOp = "prepared"     // the driver prepared its devices
	ClaimUnprepared  ClaimOp = "unprepared"   // the driver unprepared its devices: no pod of the node uses them
	ClaimNotPrepared ClaimOp = "not-prepared" // it could not be prepared: its pod cannot start
	ClaimNotReleased ClaimOp = "not-released" // it could not be unprepared: its pod cannot end
	ClaimShared      ClaimOp = "shared"       // another pod of the node has it prepared already
	ClaimStillInUse  ClaimOp = "still-in-use" // its pod has ended, and another pod of the node uses it
	ClaimSkipped     ClaimOp = "skipped"      // its allocation says that the driver need not be called
)

// ClaimFault is why a ResourceClaim could not be prepared or unprepared.
type ClaimFault string

// The faults.
const (
	FaultDriverMissing ClaimFault = "driver-missing" // no plugin of the driver is registered
	FaultDriverFailed  ClaimFault = "driver-failed"  // the driver returned an error, or cannot be reached
	FaultDriverTimeout ClaimFault = "driver-timeout" // the driver did not answer in time
	FaultDriverAnswer  ClaimFault = "driver-answer"  // the driver's answer is not about the claims that it was asked for
	FaultNotFound      ClaimFault = "not-found"      // the claim does not exist, or does not exist yet
	FaultUnallocated   ClaimFault = "unallocated"    // no devices are allocated to the claim
	FaultUnreserved    ClaimFault = "unreserved"     // the claim is not reserved for the pod
	FaultNotOwned      ClaimFault = "not-owned"      // the claim was made from a template for another pod
	FaultReplaced      ClaimFault = "replaced"       // an earlier claim of the same name is still prepared
	FaultUnpreparing   ClaimFault = "unpreparing"    // the claim is being unprepared for an earlier pod, or that failed
	FaultUnsupported   ClaimFault = "unsupported"    // the claim needs a feature that is off
	FaultAPI           ClaimFault = "api"            // the API server did not return the claim
	FaultState         ClaimFault = "state"          // the state file could not be written
)

// ClaimState is the state of a ResourceClaim on this node.
type ClaimState string

// The states of claims.
const (
	ClaimRestored    ClaimState = "restored"         // an earlier agent prepared it; its drivers have not been called since
	ClaimPreparing   ClaimState = "preparing"        // its drivers are being called
	ClaimReady       ClaimState = "prepared"         // all its drivers have prepared it
	ClaimFailed      ClaimState = "prepare-failed"   // its pod waits for the next attempt
	ClaimUnpreparing ClaimState = "unpreparing"      // its drivers are being called after its last pod has terminated
	ClaimStuck       ClaimState = "unprepare-failed" // it is tried again
	ClaimGone        ClaimState = "gone"             // no pod of the node uses it
	ClaimListed      ClaimState = "listed"           // another kubelet lists it for a container; what its drivers were called for is not known
)

// DeviceHealth is the health of a device of a DRA driver.
type DeviceHealth string

// The health of devices.
const (
	DeviceHealthy       DeviceHealth = "Healthy"   // the driver says so
	DeviceUnhealthy     DeviceHealth = "Unhealthy" // the driver says so
	DeviceHealthUnknown DeviceHealth = "Unknown"   // the driver does not report it, or has not for too long
)
