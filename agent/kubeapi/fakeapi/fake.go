// Package fakeapi makes client-go's fake clients clients of kubeapi, for tests. The product does not import it: it links every API group.
package fakeapi

import (
	"k8s.io/client-go/kubernetes"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	certificatesv1 "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	nodev1 "k8s.io/client-go/kubernetes/typed/node/v1"
	resourcev1 "k8s.io/client-go/kubernetes/typed/resource/v1"
	storagev1 "k8s.io/client-go/kubernetes/typed/storage/v1"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
)

// Of returns the clients of kubeapi that call a clientset's.
func Of(c kubernetes.Interface) kubeapi.Interface { return clients{c} }

// Core returns a client of the core group that calls a clientset's.
func Core(c corev1.CoreV1Interface) kubeapi.CoreV1 { return core{c} }

type clients struct{ of kubernetes.Interface }

// IsWatchListSemanticsUnSupported tells informers that a fake cannot stream a list.
func (clients) IsWatchListSemanticsUnSupported() bool { return true }

func (c clients) AuthenticationV1() kubeapi.AuthenticationV1 {
	return authentication{c.of.AuthenticationV1()}
}

func (c clients) AuthorizationV1() kubeapi.AuthorizationV1 {
	return authorization{c.of.AuthorizationV1()}
}

func (c clients) CertificatesV1() kubeapi.CertificatesV1 { return certificates{c.of.CertificatesV1()} }

func (c clients) CoordinationV1() kubeapi.CoordinationV1 { return coordination{c.of.CoordinationV1()} }
func (c clients) CoreV1() kubeapi.CoreV1                 { return core{c.of.CoreV1()} }
func (c clients) NodeV1() kubeapi.NodeV1                 { return node{c.of.NodeV1()} }
func (c clients) ResourceV1() kubeapi.ResourceV1         { return resource{c.of.ResourceV1()} }
func (c clients) StorageV1() kubeapi.StorageV1           { return storage{c.of.StorageV1()} }

type (
	authentication struct {
		of authenticationv1.AuthenticationV1Interface
	}
	authorization struct {
		of authorizationv1.AuthorizationV1Interface
	}
	certificates struct {
		of certificatesv1.CertificatesV1Interface
	}
	coordination struct {
		of coordinationv1.CoordinationV1Interface
	}
	core     struct{ of corev1.CoreV1Interface }
	node     struct{ of nodev1.NodeV1Interface }
	resource struct {
		of resourcev1.ResourceV1Interface
	}
	storage struct{ of storagev1.StorageV1Interface }
)

func (g authentication) TokenReviews() kubeapi.TokenReviews { return g.of.TokenReviews() }

func (g authorization) SubjectAccessReviews() kubeapi.SubjectAccessReviews {
	return g.of.SubjectAccessReviews()
}

func (g certificates) CertificateSigningRequests() kubeapi.CertificateSigningRequests {
	return g.of.CertificateSigningRequests()
}

func (g certificates) ClusterTrustBundles() kubeapi.ClusterTrustBundles {
	return g.of.ClusterTrustBundles()
}

func (g certificates) PodCertificateRequests(ns string) kubeapi.PodCertificateRequests {
	return g.of.PodCertificateRequests(ns)
}

func (g coordination) Leases(ns string) kubeapi.Leases           { return g.of.Leases(ns) }
func (g core) ConfigMaps(ns string) kubeapi.ConfigMaps           { return g.of.ConfigMaps(ns) }
func (g core) Events(ns string) kubeapi.Events                   { return g.of.Events(ns) }
func (g core) Nodes() kubeapi.Nodes                              { return g.of.Nodes() }
func (g core) PersistentVolumes() kubeapi.PersistentVolumes      { return g.of.PersistentVolumes() }
func (g core) Pods(ns string) kubeapi.Pods                       { return g.of.Pods(ns) }
func (g core) Secrets(ns string) kubeapi.Secrets                 { return g.of.Secrets(ns) }
func (g core) ServiceAccounts(ns string) kubeapi.ServiceAccounts { return g.of.ServiceAccounts(ns) }
func (g core) Services(ns string) kubeapi.Services               { return g.of.Services(ns) }

func (g core) PersistentVolumeClaims(ns string) kubeapi.PersistentVolumeClaims {
	return g.of.PersistentVolumeClaims(ns)
}

func (g node) RuntimeClasses() kubeapi.RuntimeClasses              { return g.of.RuntimeClasses() }
func (g resource) ResourceClaims(ns string) kubeapi.ResourceClaims { return g.of.ResourceClaims(ns) }
func (g resource) ResourceSlices() kubeapi.ResourceSlices          { return g.of.ResourceSlices() }
func (g storage) CSIDrivers() kubeapi.CSIDrivers                   { return g.of.CSIDrivers() }
func (g storage) CSINodes() kubeapi.CSINodes                       { return g.of.CSINodes() }
func (g storage) VolumeAttachments() kubeapi.VolumeAttachments     { return g.of.VolumeAttachments() }
