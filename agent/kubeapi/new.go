package kubeapi

import (
	"errors"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// clients implement [Interface].
type clients struct {
	authentication, authorization, certificates, coordination, core, node, resource, storage group
}

// New makes clients that share one HTTP client and one rate limiter: cfg's, or one of its QPS and Burst; a negative QPS means no limit. It
// does not call the server.
//
// Upstream: client-go, kubernetes/clientset.go, NewForConfig.
func New(cfg *rest.Config) (Interface, error) {
	shared := rest.CopyConfig(cfg)
	if shared.UserAgent == "" {
		shared.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if shared.RateLimiter == nil && shared.QPS > 0 {
		if shared.Burst <= 0 {
			return nil, errors.New("kubeapi: Config.Burst must be positive if QPS is")
		}
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	conn, err := rest.HTTPClientFor(shared)
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c := &clients{}
	for gv, to := range map[schema.GroupVersion]*group{
		authenticationv1.SchemeGroupVersion: &c.authentication, authorizationv1.SchemeGroupVersion: &c.authorization,
		certificatesv1.SchemeGroupVersion: &c.certificates, coordinationv1.SchemeGroupVersion: &c.coordination,
		v1.SchemeGroupVersion: &c.core, nodev1.SchemeGroupVersion: &c.node,
		resourcev1.SchemeGroupVersion: &c.resource, storagev1.SchemeGroupVersion: &c.storage,
	} {
		if *to, err = newGroup(*shared, conn, scheme, gv); err != nil {
			return nil, fmt.Errorf("client of %s: %w", gv, err)
		}
	}
	return c, nil
}

// group is the connection of one API group.
type group struct {
	rest   rest.Interface
	params runtime.ParameterCodec
}

func newGroup(cfg rest.Config, conn *http.Client, scheme *runtime.Scheme, gv schema.GroupVersion) (group, error) {
	cfg.GroupVersion, cfg.APIPath = &gv, "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	cfg.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, serializer.NewCodecFactory(scheme)).WithoutConversion()
	c, err := rest.RESTClientForConfigAndClient(&cfg, conn)
	return group{rest: c, params: runtime.NewParameterCodec(scheme)}, err
}

// newScheme has the types of all groups of [Interface].
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		authenticationv1.AddToScheme, authorizationv1.AddToScheme, certificatesv1.AddToScheme, coordinationv1.AddToScheme,
		v1.AddToScheme, nodev1.AddToScheme, resourcev1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("kubeapi: %w", err)
		}
	}
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s, nil
}
