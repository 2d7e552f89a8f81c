package podresources

import (
	"context"

	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

// Alpha answers the podresources API, version v1alpha1, which has the devices of app containers only. Safe for concurrent use.
type Alpha struct {
	v1alpha1.UnimplementedPodResourcesListerServer
	of *Service
}

// Alpha returns the older version of the API of the same pods.
func (s *Service) Alpha() *Alpha { return &Alpha{of: s} }

// List returns the devices that the app containers of all pods have, also of those that have ended.
//
// Upstream: pkg/kubelet/apis/podresources/server_v1alpha1.go.
func (a *Alpha) List(ctx context.Context, _ *v1alpha1.ListPodResourcesRequest) (*v1alpha1.ListPodResourcesResponse, error) {
	a.of.settle(ctx)
	a.of.cfg.Devices.Refresh()
	out := &v1alpha1.ListPodResourcesResponse{}
	for _, pod := range a.of.cfg.Pods.Everyone() {
		p := &v1alpha1.PodResources{Name: pod.Name, Namespace: pod.Namespace}
		for i := range pod.Spec.Containers {
			name := pod.Spec.Containers[i].Name
			p.Containers = append(p.Containers, &v1alpha1.ContainerResources{Name: name, Devices: alphaDevices(a.of.cfg.Devices.Devices(pod.UID, name))})
		}
		out.PodResources = append(out.PodResources, p)
	}
	return out, nil
}

// alphaDevices are devices as v1alpha1 has them: without NUMA nodes.
func alphaDevices(of []*v1.ContainerDevices) (out []*v1alpha1.ContainerDevices) {
	for _, d := range of {
		out = append(out, &v1alpha1.ContainerDevices{ResourceName: d.ResourceName, DeviceIds: d.DeviceIds})
	}
	return out
}
