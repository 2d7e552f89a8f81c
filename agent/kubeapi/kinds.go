package kubeapi

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/gentype"
)

// object is a pointer to a type T of the API.
type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// list is a pointer to a list L of the API.
type list[L any] interface {
	*L
	runtime.Object
}

// of returns the client of a kind, by its name in URLs.
func of[T, L any, P object[T], Q list[L]](g group, name, namespace string) *gentype.ClientWithList[P, Q] {
	return gentype.NewClientWithList[P, Q](name, g.rest, g.params, namespace,
		func() P { return new(T) }, func() Q { return new(L) }, gentype.PrefersProtobuf[P]())
}

// review returns the client of a kind that can only be created.
func review[T any, P object[T]](g group, name string) Review[P] {
	return gentype.NewClient[P](name, g.rest, g.params, "", func() P { return new(T) }, gentype.PrefersProtobuf[P]())
}

func (c *clients) AuthenticationV1() AuthenticationV1 { return authentication{c.authentication} }
func (c *clients) AuthorizationV1() AuthorizationV1   { return authorization{c.authorization} }
func (c *clients) CertificatesV1() CertificatesV1     { return certificates{c.certificates} }
func (c *clients) CoordinationV1() CoordinationV1     { return coordination{c.coordination} }
func (c *clients) CoreV1() CoreV1                     { return core{c.core} }
func (c *clients) NodeV1() NodeV1                     { return node{c.node} }
func (c *clients) ResourceV1() ResourceV1             { return resource{c.resource} }
func (c *clients) StorageV1() StorageV1               { return storage{c.storage} }

type (
	authentication struct{ group }
	authorization  struct{ group }
	certificates   struct{ group }
	coordination   struct{ group }
	core           struct{ group }
	node           struct{ group }
	resource       struct{ group }
	storage        struct{ group }
)

func (g authentication) TokenReviews() TokenReviews {
	return review[authenticationv1.TokenReview](g.group, "tokenreviews")
}

func (g authorization) SubjectAccessReviews() SubjectAccessReviews {
	return review[authorizationv1.SubjectAccessReview](g.group, "subjectaccessreviews")
}

func (g certificates) CertificateSigningRequests() CertificateSigningRequests {
	return of[certificatesv1.CertificateSigningRequest, certificatesv1.CertificateSigningRequestList](g.group, "certificatesigningrequests", "")
}

func (g certificates) ClusterTrustBundles() ClusterTrustBundles {
	return of[certificatesv1.ClusterTrustBundle, certificatesv1.ClusterTrustBundleList](g.group, "clustertrustbundles", "")
}

func (g certificates) PodCertificateRequests(namespace string) PodCertificateRequests {
	return of[certificatesv1.PodCertificateRequest, certificatesv1.PodCertificateRequestList](g.group, "podcertificaterequests", namespace)
}

func (g coordination) Leases(namespace string) Leases {
	return of[coordinationv1.Lease, coordinationv1.LeaseList](g.group, "leases", namespace)
}

func (g node) RuntimeClasses() RuntimeClasses {
	return of[nodev1.RuntimeClass, nodev1.RuntimeClassList](g.group, "runtimeclasses", "")
}

func (g resource) ResourceClaims(namespace string) ResourceClaims {
	return of[resourcev1.ResourceClaim, resourcev1.ResourceClaimList](g.group, "resourceclaims", namespace)
}

func (g resource) ResourceSlices() ResourceSlices {
	return of[resourcev1.ResourceSlice, resourcev1.ResourceSliceList](g.group, "resourceslices", "")
}

func (g storage) CSIDrivers() CSIDrivers {
	return of[storagev1.CSIDriver, storagev1.CSIDriverList](g.group, "csidrivers", "")
}

func (g storage) CSINodes() CSINodes {
	return of[storagev1.CSINode, storagev1.CSINodeList](g.group, "csinodes", "")
}

func (g storage) VolumeAttachments() VolumeAttachments {
	return of[storagev1.VolumeAttachment, storagev1.VolumeAttachmentList](g.group, "volumeattachments", "")
}
