package kubeapi

// Interface is the API groups of one server. [New] makes it.
type Interface interface {
	AuthenticationV1() AuthenticationV1
	AuthorizationV1() AuthorizationV1
	CertificatesV1() CertificatesV1
	CoordinationV1() CoordinationV1
	CoreV1() CoreV1
	NodeV1() NodeV1
	ResourceV1() ResourceV1
	StorageV1() StorageV1
}

// AuthenticationV1 is the group authentication.k8s.io.
type AuthenticationV1 interface{ TokenReviews() TokenReviews }

// AuthorizationV1 is the group authorization.k8s.io.
type AuthorizationV1 interface{ SubjectAccessReviews() SubjectAccessReviews }

// CertificatesV1 is the group certificates.k8s.io.
type CertificatesV1 interface {
	CertificateSigningRequests() CertificateSigningRequests
	ClusterTrustBundles() ClusterTrustBundles
	PodCertificateRequests(namespace string) PodCertificateRequests
}

// CoordinationV1 is the group coordination.k8s.io.
type CoordinationV1 interface{ Leases(namespace string) Leases }

// CoreV1 is the group without a name.
type CoreV1 interface {
	ConfigMaps(namespace string) ConfigMaps
	Nodes() Nodes
	PersistentVolumes() PersistentVolumes
	Secrets(namespace string) Secrets
	ServiceAccounts(namespace string) ServiceAccounts
	Services(namespace string) Services
	EventsGetter
	PersistentVolumeClaimsGetter
	PodsGetter
}

// EventsGetter has the events of each namespace.
type EventsGetter interface{ Events(namespace string) Events }

// PersistentVolumeClaimsGetter has the claims of each namespace.
type PersistentVolumeClaimsGetter interface {
	PersistentVolumeClaims(namespace string) PersistentVolumeClaims
}

// ServiceAccountsGetter has the service accounts of each namespace.
type ServiceAccountsGetter interface {
	ServiceAccounts(namespace string) ServiceAccounts
}

// PodsGetter has the pods of each namespace.
type PodsGetter interface{ Pods(namespace string) Pods }

// NodeV1 is the group node.k8s.io.
type NodeV1 interface{ RuntimeClasses() RuntimeClasses }

// ResourceV1 is the group resource.k8s.io.
type ResourceV1 interface {
	ResourceClaims(namespace string) ResourceClaims
	ResourceSlices() ResourceSlices
}

// StorageV1 is the group storage.k8s.io.
type StorageV1 interface {
	CSIDrivers() CSIDrivers
	CSINodes() CSINodes
	VolumeAttachments() VolumeAttachments
}
