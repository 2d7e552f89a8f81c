package podspec

import (
	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// SetDefaults sets the defaults of the API server, so that the rest of the agent sees the same pod from every source. The pod is
// changed in place. A second call changes nothing. Fields that a node agent does not read (RBD pools, Azure caching) are not
// changed. Upstream: pkg/apis/core/v1/defaults.go, SetObjectDefaults_Pod.
func SetDefaults(p *v1.Pod) {
	spec := &p.Spec
	setDefault(&spec.RestartPolicy, v1.RestartPolicyAlways)
	setDefault(&spec.DNSPolicy, v1.DNSClusterFirst)
	setDefault(&spec.SchedulerName, v1.DefaultSchedulerName)
	setDefaultPtr(&spec.SecurityContext, v1.PodSecurityContext{})
	setDefaultPtr(&spec.EnableServiceLinks, v1.DefaultEnableServiceLinks)
	setDefaultPtr(&spec.TerminationGracePeriodSeconds, int64(v1.DefaultTerminationGracePeriodSeconds))
	if *spec.TerminationGracePeriodSeconds < 0 {
		*spec.TerminationGracePeriodSeconds = 1
	}
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName

	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i], spec.HostNetwork)
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i], spec.HostNetwork)
	}
	defaultPodResources(p)
	roundUp(spec.Overhead)
}

func defaultContainer(c *v1.Container, hostNetwork bool) {
	setDefault(&c.ImagePullPolicy, pullPolicy(c.Image))
	setDefault(&c.TerminationMessagePath, v1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, v1.TerminationMessageReadFile)
	for i := range c.Ports {
		port := &c.Ports[i]
		setDefault(&port.Protocol, v1.ProtocolTCP)
		if hostNetwork {
			setDefault(&port.HostPort, port.ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				setDefaultPtr(&from.FileKeyRef.Optional, false)
			}
		}
	}
	for _, probe := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		defaultProbe(probe)
	}
	if c.Lifecycle != nil {
		for _, h := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				defaultHTTPGet(h.HTTPGet)
			}
		}
	}
	defaultResources(&c.Resources)
}

func defaultProbe(p *v1.Probe) {
	if p == nil {
		return
	}
	setDefault(&p.TimeoutSeconds, 1)
	setDefault(&p.PeriodSeconds, 10)
	setDefault(&p.SuccessThreshold, 1)
	setDefault(&p.FailureThreshold, 3)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		setDefaultPtr(&p.GRPC.Service, "")
	}
}

func defaultHTTPGet(a *v1.HTTPGetAction) {
	if a == nil {
		return
	}
	setDefault(&a.Path, "/")
	setDefault(&a.Scheme, v1.URISchemeHTTP)
}

func defaultFieldRef(r *v1.ObjectFieldSelector) {
	if r != nil {
		setDefault(&r.APIVersion, "v1")
	}
}

func defaultVolume(v *v1.Volume) {
	if v.VolumeSource == (v1.VolumeSource{}) {
		v.EmptyDir = &v1.EmptyDirVolumeSource{}
	}
	switch {
	case v.HostPath != nil:
		setDefaultPtr(&v.HostPath.Type, v1.HostPathUnset)
	case v.Secret != nil:
		setDefaultPtr(&v.Secret.DefaultMode, v1.SecretVolumeSourceDefaultMode)
	case v.ConfigMap != nil:
		setDefaultPtr(&v.ConfigMap.DefaultMode, v1.ConfigMapVolumeSourceDefaultMode)
	case v.DownwardAPI != nil:
		setDefaultPtr(&v.DownwardAPI.DefaultMode, v1.DownwardAPIVolumeSourceDefaultMode)
		defaultDownward(v.DownwardAPI.Items)
	case v.Projected != nil:
		setDefaultPtr(&v.Projected.DefaultMode, v1.ProjectedVolumeSourceDefaultMode)
		for _, s := range v.Projected.Sources {
			if s.DownwardAPI != nil {
				defaultDownward(s.DownwardAPI.Items)
			}
			if s.ServiceAccountToken != nil {
				setDefaultPtr(&s.ServiceAccountToken.ExpirationSeconds, 60*60)
			}
		}
	case v.Image != nil:
		setDefault(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	case v.ISCSI != nil:
		setDefault(&v.ISCSI.ISCSIInterface, "default")
	}
}

func defaultDownward(files []v1.DownwardAPIVolumeFile) {
	for i := range files {
		defaultFieldRef(files[i].FieldRef)
	}
}

// pullPolicy returns Always for the latest tag, explicit or implied. Validation rejects an image that does not parse.
func pullPolicy(image string) v1.PullPolicy {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return v1.PullIfNotPresent
	}
	if reference.IsNameOnly(named) {
		return v1.PullAlways
	}
	if tagged, ok := named.(reference.Tagged); ok && tagged.Tag() == "latest" {
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}

// defaultResources rounds quantities up to milli-units and copies limits to missing requests.
func defaultResources(r *v1.ResourceRequirements) {
	roundUp(r.Limits)
	roundUp(r.Requests)
	if len(r.Limits) > 0 && r.Requests == nil {
		r.Requests = make(v1.ResourceList, len(r.Limits))
	}
	for name, limit := range r.Limits {
		setMissing(r.Requests, name, limit)
	}
}

// defaultPodResources sets missing pod-level requests if there are pod-level limits: from the sum of the containers'
// requests, otherwise from the limit. Upstream: pkg/apis/core/v1/defaults.go, defaultPodRequests.
func defaultPodResources(p *v1.Pod) {
	r := p.Spec.Resources
	if r == nil {
		return
	}
	roundUp(r.Limits)
	roundUp(r.Requests)
	if len(r.Limits) == 0 {
		return
	}
	sum := resource.AggregateContainerRequests(p, resource.PodResourcesOptions{})
	if r.Requests == nil {
		r.Requests = make(v1.ResourceList, len(r.Limits))
	}
	for name, have := range sum {
		if resource.IsSupportedPodLevelResource(name) && overcommit(name) {
			setMissing(r.Requests, name, have)
		}
	}
	for name, limit := range r.Limits {
		if resource.IsSupportedPodLevelResource(name) {
			setMissing(r.Requests, name, limit)
		}
	}
}

func setMissing(list v1.ResourceList, name v1.ResourceName, quantity apiresource.Quantity) {
	if _, ok := list[name]; !ok {
		list[name] = quantity.DeepCopy()
	}
}

func roundUp(list v1.ResourceList) {
	for name, quantity := range list {
		const milli = -3
		quantity.RoundUp(milli)
		list[name] = quantity
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setDefaultPtr[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
