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

// ConfigMaps and the other types are the kinds that the agent uses.
type (
	ConfigMaps                 = Resource[*v1.ConfigMap, *v1.ConfigMapList]
	Events                     = Resource[*v1.Event, *v1.EventList]
	Nodes                      = Resource[*v1.Node, *v1.NodeList]
	PersistentVolumeClaims     = Resource[*v1.PersistentVolumeClaim, *v1.PersistentVolumeClaimList]
	PersistentVolumes          = Resource[*v1.PersistentVolume, *v1.PersistentVolumeList]
	Pods                       = Resource[*v1.Pod, *v1.PodList]
	Secrets                    = Resource[*v1.Secret, *v1.SecretList]
	Services                   = Resource[*v1.Service, *v1.ServiceList]
	Leases                     = Resource[*coordinationv1.Lease, *coordinationv1.LeaseList]
	CSIDrivers                 = Resource[*storagev1.CSIDriver, *storagev1.CSIDriverList]
	CSINodes                   = Resource[*storagev1.CSINode, *storagev1.CSINodeList]
	VolumeAttachments          = Resource[*storagev1.VolumeAttachment, *storagev1.VolumeAttachmentList]
	CertificateSigningRequests = Resource[*certificatesv1.CertificateSigningRequest, *certificatesv1.CertificateSigningRequestList]
	ClusterTrustBundles        = Resource[*certificatesv1.ClusterTrustBundle, *certificatesv1.ClusterTrustBundleList]
	PodCertificateRequests     = Resource[*certificatesv1.PodCertificateRequest, *certificatesv1.PodCertificateRequestList]
	RuntimeClasses             = Resource[*nodev1.RuntimeClass, *nodev1.RuntimeClassList]
	ResourceClaims             = Resource[*resourcev1.ResourceClaim, *resourcev1.ResourceClaimList]
	ResourceSlices             = Collection[*resourcev1.ResourceSlice, *resourcev1.ResourceSliceList]
	TokenReviews               = Review[*authenticationv1.TokenReview]
	SubjectAccessReviews       = Review[*authorizationv1.SubjectAccessReview]
)

// ServiceAccounts also issue tokens.
type ServiceAccounts interface {
	Resource[*v1.ServiceAccount, *v1.ServiceAccountList]
	CreateToken(ctx context.Context, name string, request *authenticationv1.TokenRequest, opts metav1.CreateOptions) (*authenticationv1.TokenRequest, error)
}
