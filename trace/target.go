package trace

// Target is what a record is about. Two targets are the same if they are equal.
type Target struct {
	Kind TargetKind `json:"kind"`
	// Namespace is that of an object of the API server.
	Namespace string `json:"namespace,omitempty"`
	// Name is the target's own: of a container, an image, a volume, an object, a provider, a driver, a file, an address. A probe's is
	// startup, readiness or liveness, a hook's postStart or preStop.
	Name string `json:"name,omitempty" scrub:"text"`
	// Container is whose probe or hook it is.
	Container string `json:"container,omitempty"`
}

// TargetKind says what sort of thing a record is about.
type TargetKind string

// The kinds of target.
const (
	TargetPods           TargetKind = "pods"            // other pods that give way to this one; Wait.Ahead says how many
	TargetEarlierPod     TargetKind = "earlier-pod"     // the pod that had the full name before
	TargetLeftovers      TargetKind = "leftovers"       // what an earlier pod of the same UID left
	TargetContainer      TargetKind = "container"       // a container of the pod
	TargetInitContainer  TargetKind = "init-container"  // an init container of the pod
	TargetProbe          TargetKind = "probe"           // a container's probe
	TargetHook           TargetKind = "hook"            // a container's postStart or preStop handler
	TargetLog            TargetKind = "log"             // the end of a container's log
	TargetRetry          TargetKind = "retry"           // the pod worker's next attempt
	TargetPerson         TargetKind = "person"          // the person who steps the pod
	TargetDelay          TargetKind = "delay"           // a delay that the person who steps the pod asked for
	TargetImage          TargetKind = "image"           // an image
	TargetPulls          TargetKind = "pulls"           // a place among the pulls that may run at once
	TargetRegistry       TargetKind = "registry"        // the rate of pulls (registryPullQPS)
	TargetProvider       TargetKind = "provider"        // an exec credential provider; Namespace is the repository it is asked for
	TargetVolume         TargetKind = "volume"          // a volume of the pod, or its handle
	TargetClaim          TargetKind = "claim"           // the claim of a volume of the pod
	TargetDriver         TargetKind = "driver"          // a CSI driver
	TargetVolumeSlots    TargetKind = "volume-slots"    // a place among the volume operations
	TargetRuntime        TargetKind = "runtime"         // the container runtime
	TargetRuntimeSlots   TargetKind = "runtime-slots"   // a place among the pods that work with the runtime
	TargetStepSlot       TargetKind = "step-slot"       // the place that another action of the same pod waits for
	TargetLatestAction   TargetKind = "latest-action"   // the runtime's event about the agent's latest action
	TargetNetwork        TargetKind = "network"         // the pod network
	TargetConfigMap      TargetKind = "configmap"       // a ConfigMap
	TargetSecret         TargetKind = "secret"          // a Secret
	TargetToken          TargetKind = "token"           // a service account's token
	TargetRuntimeClass   TargetKind = "runtimeclass"    // a RuntimeClass
	TargetPodCertificate TargetKind = "pod-certificate" // the certificate for a volume
	TargetList           TargetKind = "list"            // the first list of a kind of objects
	TargetRequest        TargetKind = "request"         // a certificate signing request
	TargetCertificate    TargetKind = "certificate"     // a certificate of the agent: client or serving
	TargetClient         TargetKind = "client"          // the request limit of a client of the API server
	TargetRetryAfter     TargetKind = "retry-after"     // the pause that the API server asks for; Name is the request
	TargetEvents         TargetKind = "events"          // the API server, to take Events
	TargetStatuses       TargetKind = "statuses"        // the API server, to take pods' statuses
	TargetStatus         TargetKind = "status"          // the API server, to take this pod's status
	TargetMirrorPods     TargetKind = "mirror-pods"     // the API server, to take mirror pods
	TargetWatch          TargetKind = "watch"           // the API server, to watch the node's pods
	TargetLease          TargetKind = "lease"           // the node's lease
	TargetRegistration   TargetKind = "registration"    // the node's registration
	TargetNodeStatus     TargetKind = "node-status"     // the node's status
	TargetAddress        TargetKind = "address"         // the address of a source of pods
	TargetLockFile       TargetKind = "lock-file"       // --lock-file
	TargetVolumeManager  TargetKind = "volume-manager"  // the volume manager of another kubelet
	TargetOther          TargetKind = "other"           // a target of an earlier recording that this version does not know
)
