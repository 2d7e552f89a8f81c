package node

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
)

// watch follows the node's object. The informer makes the first list, and lists again with back-off when the watch
// ends.
func (n *Node) watch(ctx context.Context) error {
	select {
	case <-n.registered: // before, there is nothing to watch, and the server may not be reachable
	case <-ctx.Done():
		return nil
	}
	informer := kubeapi.NewInformer(n.cfg.Client, n.cfg.Client.CoreV1().Nodes(), &v1.Node{}, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, n.cfg.Name).String()
	})
	if err := informer.SetTransform(lean); err != nil {
		return err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { n.told(ctx, nil, o) },
		UpdateFunc: func(was, o any) { n.told(ctx, was, o) },
		DeleteFunc: n.deleted,
	})
	if err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}

// lean drops fields that the agent does not read.
func lean(o any) (any, error) {
	if node, ok := o.(*v1.Node); ok {
		node.ManagedFields = nil
	}
	return o, nil
}
