package objcache

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// newServices follows the cluster's services, except headless ones, which have no variables.
//
// Upstream: pkg/kubelet/kubelet.go, NewMainKubelet.
func newServices(client kubeapi.Interface) (cache.SharedIndexInformer, error) {
	inf := kubeapi.NewInformer(client, client.CoreV1().Services(metav1.NamespaceAll), &v1.Service{},
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermNotEqualSelector("spec.clusterIP", v1.ClusterIPNone).String()
		})
	return inf, inf.SetTransform(slim)
}

// slim keeps the fields of a service that variables need.
func slim(obj any) (any, error) {
	s, ok := obj.(*v1.Service)
	if !ok {
		return obj, nil
	}
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion},
		Spec:       v1.ServiceSpec{ClusterIP: s.Spec.ClusterIP, ClusterIPs: s.Spec.ClusterIPs, Ports: s.Spec.Ports, Type: s.Spec.Type},
	}, nil
}

// Services returns the services of the pod's namespace and the API server's own, default/kubernetes. They have only
// names, addresses and ports, and are shared: do not change them. It waits at most 10 s for the first list, and not at
// all for a static pod, which may be the API server: that gets the services that are known.
//
// Upstream: pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables.
func (c *Objects) Services(ctx context.Context, pod *v1.Pod) ([]*v1.Service, error) {
	if !podspec.IsStatic(pod) {
		if err := c.synced(ctx, "services", c.services); err != nil {
			return nil, err
		}
	}
	namespace := pod.Namespace
	found, err := c.services.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		return nil, fmt.Errorf("services of namespace %s: %w", namespace, err)
	}
	out := make([]*v1.Service, 0, len(found)+1)
	for _, obj := range found {
		if s, ok := obj.(*v1.Service); ok {
			out = append(out, s)
		}
	}
	if namespace == v1.NamespaceDefault {
		return out, nil
	}
	if obj, ok, err := c.services.GetIndexer().GetByKey(v1.NamespaceDefault + "/kubernetes"); err == nil && ok {
		if s, ok := obj.(*v1.Service); ok {
			out = append(out, s)
		}
	}
	return out, nil
}

// synced waits for an informer's first list, at most syncTimeout.
func (c *Objects) synced(ctx context.Context, what string, inf cache.SharedIndexInformer) error {
	if inf.HasSynced() {
		return nil
	}
	wait := trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetList, Name: what}}
	span := trace.Begin(c.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(c.cfg.Bus, span, wait) }()
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
		return errors.New(what + " have not yet been read at least once")
	}
	return nil
}
