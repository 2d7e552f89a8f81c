// Package qostest has the kinds of pods whose limits tests compare with upstream's.
package qostest

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Kind is a kind of pod.
type Kind struct {
	Name string
	Pod  *v1.Pod
}

// Kinds returns the twelve kinds.
func Kinds() []Kind {
	always := v1.ContainerRestartPolicyAlways
	two := Resources("cpu=500m memory=64Mi", "cpu=500m memory=64Mi")
	wide := Resources("cpu=250m memory=64Mi", "cpu=500m memory=128Mi")
	pages := Resources("cpu=500m memory=64Mi hugepages-2Mi=4Mi", "cpu=500m memory=64Mi hugepages-2Mi=4Mi")
	return []Kind{
		{"guaranteed", pod(nil, two)},
		{"guaranteed with huge pages", pod(nil, pages)},
		{"burstable, requests only", pod(nil, Resources("cpu=250m memory=64Mi", ""))},
		{"burstable, limits", pod(nil, wide)},
		{"burstable, one container without limits", pod(nil, wide, Resources("", ""))},
		{"burstable, limits without requests", pod(nil, Resources("cpu=250m", "cpu=250m memory=128Mi"))},
		{"best effort", pod(nil, Resources("", ""))},
		{"pod-level, burstable", pod(func(p *v1.Pod) { p.Spec.Resources = new(wide) }, Resources("", ""), Resources("cpu=100m memory=16Mi", "memory=32Mi"))},
		{"pod-level, guaranteed", pod(func(p *v1.Pod) { p.Spec.Resources = new(two) }, Resources("", ""))},
		{"pod-level huge pages", pod(func(p *v1.Pod) {
			p.Spec.Resources = new(Resources("cpu=250m memory=64Mi hugepages-2Mi=4Mi", "cpu=500m memory=64Mi hugepages-2Mi=4Mi"))
		}, Resources("", ""))},
		{"sidecar, init container and overhead", pod(func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{
				{Name: "side", RestartPolicy: &always, Resources: two},
				{Name: "init", Resources: wide},
			}
			p.Spec.Overhead = List("cpu=100m memory=16Mi")
		}, wide)},
		{"critical, burstable", pod(func(p *v1.Pod) {
			p.Spec.Priority, p.Spec.PriorityClassName = new(int32(2_000_000_000)), "system-cluster-critical"
		}, wide)},
	}
}

func pod(edit func(*v1.Pod), containers ...v1.ResourceRequirements) *v1.Pod {
	p := &v1.Pod{}
	p.Name, p.Namespace, p.UID = "p", "default", "u"
	for i, r := range containers {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: string(rune('a' + i)), Resources: r})
	}
	if edit != nil {
		edit(p)
	}
	return p
}

// Resources parses requests and limits such as "cpu=1 memory=1Gi".
func Resources(requests, limits string) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: List(requests), Limits: List(limits)}
}

// List parses amounts such as "cpu=1 memory=1Gi".
func List(text string) v1.ResourceList {
	out := v1.ResourceList{}
	for item := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(item, "=")
		out[v1.ResourceName(name)] = resource.MustParse(value)
	}
	return out
}
