package trace

// Target is what a record is about. Two targets are the same if all their fields are equal.
type Target struct {
	Kind TargetKind `json:"kind"`
	// Namespace is that of an object of the API server.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the target: of a container, an image, a volume, an object, a provider, a driver, a file, an address. For
	// a probe it is startup, readiness or liveness, for a hook postStart or preStop.
	Name string `json:"name,omitempty" scrub:"text"`
	// Container is the container of a probe or hook, or that gets devices.
	Container string `json:"container,omitempty"`
}

// TargetKind is the kind of a target.
type TargetKind string

// The kinds of target.
const (
	TargetPods           TargetKind = "pods"            // other pods that are preempted for this one; Wait.Ahead is their number
	TargetEvicted        TargetKind = "evicted"         // an evicted pod, whose resources are not free yet
	TargetEarlierPod     TargetKind = "earlier-pod"     // the earlier pod with the same full name
	TargetLeftovers      TargetKind = "leftovers"       // the remains of an earlier pod with the same UID
	TargetContainer      TargetKind = "container"       // a container of the pod
	TargetInitContainer  TargetKind = "init-container"  // an init container of the pod
	TargetProbe          TargetKind = "probe"           // a container's probe
	TargetHook           TargetKind = "hook"            // a container's postStart or preStop handler
	TargetLog            TargetKind = "log"             // the end of a container's log
	TargetRetry          TargetKind = "retry"           // the pod worker's next attempt
	TargetPerson         TargetKind = "person"          // the user of the step session
	TargetDelay          TargetKind = "delay"           // a delay that the user of the step session requested
	TargetImage          TargetKind = "image"           // an image
	TargetPulls          TargetKind = "pulls"           // a slot for image pulls
	TargetRegistry       TargetKind = "registry"        // the rate of pulls (registryPullQPS)
	TargetProvider       TargetKind = "provider"        // an exec credential provider; Namespace is the repository
	TargetVolume         TargetKind = "volume"          // a volume of the pod, or its handle
	TargetClaim          TargetKind = "claim"           // the claim of a volume of the pod
	TargetDriver         TargetKind = "driver"          // a CSI driver
	TargetVolumeSlots    TargetKind = "volume-slots"    // a slot for volume operations
	TargetRuntime        TargetKind = "runtime"         // the container runtime
	TargetRuntimeSlots   TargetKind = "runtime-slots"   // a slot for operations of the container runtime
	TargetStepSlot       TargetKind = "step-slot"       // the slot that another action of the same pod waits for
	TargetLatestAction   TargetKind = "latest-action"   // the runtime's event about the agent's latest action
	TargetNetwork        TargetKind = "network"         // the pod network
	TargetConfigMap      TargetKind = "configmap"       // a ConfigMap
	TargetSecret         TargetKind = "secret"          // a Secret
	TargetToken          TargetKind = "token"           // a service account's token
	TargetServiceAccount TargetKind = "serviceaccount"  // a service account
	TargetRuntimeClass   TargetKind = "runtimeclass"    // a RuntimeClass
	TargetPodCertificate TargetKind = "pod-certificate" // the certificate for a volume
	TargetList           TargetKind = "list"            // the first list of a resource
	TargetRequest        TargetKind = "request"         // a certificate signing request
	TargetCertificate    TargetKind = "certificate"     // a certificate of the agent: client or serving
	TargetClient         TargetKind = "client"          // the request limit of a client of the API server
	TargetRetryAfter     TargetKind = "retry-after"     // the Retry-After of the API server; Name is the request
	TargetEvents         TargetKind = "events"          // the API server, for Kubernetes Events
	TargetStatuses       TargetKind = "statuses"        // the API server, for the statuses of pods
	TargetStatus         TargetKind = "status"          // the API server, for the status of this pod
	TargetMirrorPods     TargetKind = "mirror-pods"     // the API server, for mirror pods
	TargetWatch          TargetKind = "watch"           // the API server, for the watch of the node's pods
	TargetLease          TargetKind = "lease"           // the node's lease
	TargetRegistration   TargetKind = "registration"    // the node's registration
	TargetNodeStatus     TargetKind = "node-status"     // the node's status
	TargetAddress        TargetKind = "address"         // the address of a source of pods
	TargetLockFile       TargetKind = "lock-file"       // --lock-file
	TargetVolumeManager  TargetKind = "volume-manager"  // the volume manager of another kubelet
	TargetDevicePlugin   TargetKind = "device-plugin"   // a device plugin; Name is its resource, Container the container
	TargetDRADriver      TargetKind = "dra-driver"      // a DRA driver
	TargetResourceClaim  TargetKind = "resourceclaim"   // a ResourceClaim of the pod
	TargetPLEG           TargetKind = "pleg"            // the next look of another kubelet at its container runtime
	TargetOther          TargetKind = "other"           // a target of an earlier recording that this version does not know
)
