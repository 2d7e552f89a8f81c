package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Device plugins, and the APIs on local sockets: upstream's names.
func TestDevices(t *testing.T) {
	s, reg := newSink(t)
	put := func(edge trace.Edge, e trace.Event) { s.Apply(&trace.Record{Edge: edge, Event: e}) }
	const gpu = "example.com/gpu"
	put(trace.EdgePoint, &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: gpu})
	put(trace.EdgePoint, &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: gpu})
	put(trace.EdgePoint, &trace.DevicePlugin{Op: trace.PluginRefused, Resource: "cpu"})
	put(trace.EdgePoint, &trace.DeviceAllocation{Resource: gpu, Outcome: trace.DevicesAllocated, Took: 2 * time.Second})
	put(trace.EdgePoint, &trace.DeviceAllocation{Resource: gpu, Outcome: trace.DevicesPrepared, Took: 2 * time.Second})
	put(trace.EdgePoint, &trace.DeviceAllocation{Resource: gpu, Outcome: trace.DevicesRefused})
	for method, code := range map[string]int{"List": 200, "Get": 400, "GetAllocatableResources": 200, "Nonsense": 200} {
		put(trace.EdgeEnd, &trace.ServerRequest{Server: trace.ServerPodResources, Method: method, Path: "/v1.PodResourcesLister/" + method, Code: code})
	}
	for _, code := range []int{200, 503} { // of this version, upstream counts all requests, and none of a method
		put(trace.EdgeEnd, &trace.ServerRequest{Server: trace.ServerPodResources, Method: "List", Path: "/v1alpha1.PodResourcesLister/List", Code: code})
	}
	for method, code := range map[string]int{"ListPods": 503, "GetPod": 404, "WatchPods": 200} {
		put(trace.EdgeEnd, &trace.ServerRequest{Server: trace.ServerPods, Method: method, Path: "/v1alpha1.Pods/" + method, Code: code})
	}
	put(trace.EdgeEnd, &trace.ServerRequest{Server: trace.ServerPods, Method: "WatchPods", Path: "/v1alpha1.Pods/WatchPods", Code: trace.CodeCanceled})
	got := ours(t, reg)
	for _, line := range []string{
		`kubelet_device_plugin_registration_total{resource_name="example.com/gpu"} 2`,
		`kubelet_device_plugin_alloc_duration_seconds_sum{resource_name="example.com/gpu"} 2`,
		`kubelet_device_plugin_alloc_duration_seconds_count{resource_name="example.com/gpu"} 1`,
		`kubelet_pod_resources_endpoint_requests_total{server_api_version="v1"} 3`,
		`kubelet_pod_resources_endpoint_requests_total{server_api_version="v1alpha1"} 2`,
		`kubelet_pod_resources_endpoint_requests_list{server_api_version="v1"} 1`,
		`kubelet_pod_resources_endpoint_requests_get{server_api_version="v1"} 1`,
		`kubelet_pod_resources_endpoint_errors_get{server_api_version="v1"} 1`,
		`kubelet_pod_resources_endpoint_requests_get_allocatable{server_api_version="v1"} 1`,
		`kubelet_pod_requests_total{server_api_version="v1alpha1",status_code="NotFound"} 1`,
		`kubelet_pod_requests_list_total{server_api_version="v1alpha1",status_code="FailedPrecondition"} 1`,
		`kubelet_pod_requests_watch_total{server_api_version="v1alpha1",status_code="OK"} 1`,
		`kubelet_pod_requests_watch_total{server_api_version="v1alpha1",status_code="Canceled"} 1`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	for _, no := range []string{
		`kubelet_pod_resources_endpoint_requests_list{server_api_version="v1alpha1"}`, `kubelet_pod_resources_endpoint_errors_list{server_api_version="v1alpha1"}`,
		`resource_name="cpu"`, "kubelet_http_requests_total",
	} {
		if strings.Contains(got, no) {
			t.Errorf("%s in:\n%s", no, got)
		}
	}
}
