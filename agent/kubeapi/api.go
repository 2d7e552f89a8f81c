package kubeapi

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Resource is the objects of one kind, in one namespace if it is a kind with namespaces. Errors are those of the API server
// (k8s.io/apimachinery/pkg/api/errors) or of the connection.
type Resource[T, L any] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
}

// Collection is objects of which many can be deleted by one request.
type Collection[T, L any] interface {
	Resource[T, L]
	DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error
}

// Review is a kind that can only be created: the answer is in its status.
type Review[T any] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
}

type (
	// ConfigMaps are those of one namespace, or of all.
	ConfigMaps = Resource[*v1.ConfigMap, *v1.ConfigMapList]
	// Events are those of one namespace, or of all.
	Events = Resource[*v1.Event, *v1.EventList]
	// Nodes are those of the cluster.
	Nodes = Resource[*v1.Node, *v1.NodeList]
	// PersistentVolumeClaims are those of one namespace, or of all.
	PersistentVolumeClaims = Resource[*v1.PersistentVolumeClaim, *v1.PersistentVolumeClaimList]
	// PersistentVolumes are those of the cluster.
	PersistentVolumes = Resource[*v1.PersistentVolume, *v1.PersistentVolumeList]
	// Pods are those of one namespace, or of all.
	Pods = Resource[*v1.Pod, *v1.PodList]
	// Secrets are those of one namespace, or of all.
	Secrets = Resource[*v1.Secret, *v1.SecretList]
	// Services are those of one namespace, or of all.
	Services = Resource[*v1.Service, *v1.ServiceList]
	// Leases are those of one namespace, or of all.
	Leases = Resource[*coordinationv1.Lease, *coordinationv1.LeaseList]
	// CSIDrivers are those of the cluster.
	CSIDrivers = Resource[*storagev1.CSIDriver, *storagev1.CSIDriverList]
	// VolumeAttachments are those of the cluster.
	VolumeAttachments = Resource[*storagev1.VolumeAttachment, *storagev1.VolumeAttachmentList]
	// CertificateSigningRequests are those of the cluster.
	CertificateSigningRequests = Resource[*certificatesv1.CertificateSigningRequest, *certificatesv1.CertificateSigningRequestList]
	// ClusterTrustBundles are those of the cluster.
	ClusterTrustBundles = Resource[*certificatesv1.ClusterTrustBundle, *certificatesv1.ClusterTrustBundleList]
	// PodCertificateRequests are those of one namespace, or of all.
	PodCertificateRequests = Resource[*certificatesv1.PodCertificateRequest, *certificatesv1.PodCertificateRequestList]
	// RuntimeClasses are those of the cluster.
	RuntimeClasses = Resource[*nodev1.RuntimeClass, *nodev1.RuntimeClassList]
	// ResourceClaims are those of one namespace, or of all.
	ResourceClaims = Resource[*resourcev1.ResourceClaim, *resourcev1.ResourceClaimList]
	// ResourceSlices are those of the cluster.
	ResourceSlices = Collection[*resourcev1.ResourceSlice, *resourcev1.ResourceSliceList]
	// TokenReviews asks the API server for reviews.
	TokenReviews = Review[*authenticationv1.TokenReview]
	// SubjectAccessReviews asks the API server for reviews.
	SubjectAccessReviews = Review[*authorizationv1.SubjectAccessReview]
)

// CSINodes are those of the cluster. They have statuses.
type CSINodes interface {
	Resource[*storagev1.CSINode, *storagev1.CSINodeList]
	UpdateStatus(ctx context.Context, obj *storagev1.CSINode, opts metav1.UpdateOptions) (*storagev1.CSINode, error)
}

// ServiceAccounts also issue tokens.
type ServiceAccounts interface {
	Resource[*v1.ServiceAccount, *v1.ServiceAccountList]
	CreateToken(ctx context.Context, name string, request *authenticationv1.TokenRequest, opts metav1.CreateOptions) (*authenticationv1.TokenRequest, error)
}
