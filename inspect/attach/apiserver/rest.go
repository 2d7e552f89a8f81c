package apiserver

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

// clients are those of the two kinds that are read, in all namespaces. client-go's own client of the group links every API group.
type clients struct {
	pods   *gentype.ClientWithList[*v1.Pod, *v1.PodList]
	events *gentype.ClientWithList[*v1.Event, *v1.EventList]
}

func newClients(cfg *rest.Config) (clients, error) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return clients{}, err
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg = rest.CopyConfig(cfg)
	gv := v1.SchemeGroupVersion
	cfg.GroupVersion, cfg.APIPath = &gv, "/api"
	cfg.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, serializer.NewCodecFactory(scheme)).WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return clients{}, err
	}
	params := runtime.NewParameterCodec(scheme)
	return clients{
		pods: gentype.NewClientWithList[*v1.Pod, *v1.PodList]("pods", c, params, metav1.NamespaceAll,
			func() *v1.Pod { return &v1.Pod{} }, func() *v1.PodList { return &v1.PodList{} }),
		events: gentype.NewClientWithList[*v1.Event, *v1.EventList]("events", c, params, metav1.NamespaceAll,
			func() *v1.Event { return &v1.Event{} }, func() *v1.EventList { return &v1.EventList{} }),
	}, nil
}
