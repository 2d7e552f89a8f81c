package kubeapi

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// NewInformer follows the objects of a kind. options, if not nil, selects some of them.
//
// Upstream: client-go, informers/core/v1/node.go, NewFilteredNodeInformer.
func NewInformer[T, L runtime.Object](api Interface, of Resource[T, L], kind T, by cache.Indexers, options func(*metav1.ListOptions)) cache.SharedIndexInformer {
	if options == nil {
		options = func(*metav1.ListOptions) {}
	}
	return cache.NewSharedIndexInformer(NewListWatch(api, of, options), kind, 0, by)
}

// NewListWatch lists and watches the objects of a kind that options select.
func NewListWatch[T any, L runtime.Object](api Interface, of Resource[T, L], options func(*metav1.ListOptions)) cache.ListerWatcher {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			options(&o)
			return of.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			options(&o)
			return of.Watch(ctx, o)
		},
	}
	return cache.ToListWatcherWithWatchListSemantics(lw, api)
}
