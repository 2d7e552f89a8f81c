package kubeapi

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/gentype"
)

func (g core) ConfigMaps(namespace string) ConfigMaps {
	return of[v1.ConfigMap, v1.ConfigMapList](g.group, "configmaps", namespace)
}

func (g core) Events(namespace string) Events {
	return of[v1.Event, v1.EventList](g.group, "events", namespace)
}

func (g core) Nodes() Nodes { return of[v1.Node, v1.NodeList](g.group, "nodes", "") }

func (g core) PersistentVolumeClaims(namespace string) PersistentVolumeClaims {
	return of[v1.PersistentVolumeClaim, v1.PersistentVolumeClaimList](g.group, "persistentvolumeclaims", namespace)
}

func (g core) PersistentVolumes() PersistentVolumes {
	return of[v1.PersistentVolume, v1.PersistentVolumeList](g.group, "persistentvolumes", "")
}

func (g core) Pods(namespace string) Pods { return of[v1.Pod, v1.PodList](g.group, "pods", namespace) }

func (g core) Secrets(namespace string) Secrets {
	return of[v1.Secret, v1.SecretList](g.group, "secrets", namespace)
}

func (g core) ServiceAccounts(namespace string) ServiceAccounts {
	return accounts{of[v1.ServiceAccount, v1.ServiceAccountList](g.group, "serviceaccounts", namespace), g.params}
}

func (g core) Services(namespace string) Services {
	return of[v1.Service, v1.ServiceList](g.group, "services", namespace)
}

// accounts implement [ServiceAccounts].
type accounts struct {
	*gentype.ClientWithList[*v1.ServiceAccount, *v1.ServiceAccountList]
	params runtime.ParameterCodec
}

// CreateToken implements [ServiceAccounts].
func (a accounts) CreateToken(ctx context.Context, name string, request *authenticationv1.TokenRequest, opts metav1.CreateOptions) (*authenticationv1.TokenRequest, error) {
	made := &authenticationv1.TokenRequest{}
	err := a.GetClient().Post().UseProtobufAsDefault().Namespace(a.GetNamespace()).Resource("serviceaccounts").Name(name).SubResource("token").
		VersionedParams(&opts, a.params).Body(request).Do(ctx).Into(made)
	return made, err
}
