package podspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"
)

// overcommit reports whether limits of the resource may exceed the node's amount. Upstream:
// pkg/apis/core/v1/helper/helpers.go, IsOvercommitAllowed.
func overcommit(name v1.ResourceName) bool {
	n := string(name)
	native := !strings.Contains(n, "/") || strings.Contains(n, v1.ResourceDefaultNamespacePrefix)
	return native && !strings.HasPrefix(n, v1.ResourceHugePagesPrefix)
}

func validateResources(r *v1.ResourceRequirements, path *field.Path) field.ErrorList {
	errs := validateQuantities(r.Limits, path.Child("limits"))
	// Requests without a limit of that name; the others were copied from the limit or are compared with it.
	alone := maps.Clone(r.Requests)
	maps.DeleteFunc(alone, func(name v1.ResourceName, q apiresource.Quantity) bool {
		_, ok := r.Limits[name]
		return ok && q.Sign() >= 0
	})
	errs = append(errs, validateQuantities(alone, path.Child("requests"))...)
	if hasPages(r.Limits) || hasPages(r.Requests) {
		if !hasCompute(r.Limits) && !hasCompute(r.Requests) {
			errs = append(errs, field.Forbidden(path, "huge pages need cpu or memory"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		limit, limited := r.Limits[name]
		at := path.Child("requests").Key(string(name))
		switch {
		case !limited && !overcommit(name):
			errs = append(errs, field.Required(path.Child("limits").Key(string(name)), "this resource cannot be overcommitted, so it needs a limit"))
		case limited && !overcommit(name) && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf("must be equal to the limit of %s", limit.String())))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf("must be less than or equal to the limit of %s", limit.String())))
		}
	}
	return errs
}

// validatePodResources checks the pod-level resources, also against those of the containers. Missing requests were set from the containers', as
// the API server does.
//
// Upstream: pkg/apis/core/validation/validation.go, validatePodResources.
func validatePodResources(s *v1.PodSpec, path *field.Path) field.ErrorList {
	if s.Resources == nil {
		return nil
	}
	at := path.Child("resources")
	errs := validateResources(s.Resources, at)
	if len(s.Resources.Claims) > 0 {
		errs = append(errs, field.Forbidden(at.Child("claims"), "only containers have claims"))
	}
	for _, list := range []struct {
		name string
		of   v1.ResourceList
	}{{"limits", s.Resources.Limits}, {"requests", s.Resources.Requests}} {
		for _, name := range slices.Sorted(maps.Keys(list.of)) {
			if !resourcehelper.IsSupportedPodLevelResource(name) {
				errs = append(errs, field.NotSupported(at.Child(list.name).Key(string(name)), name, sets.List(resourcehelper.SupportedPodLevelResources())))
			}
		}
	}
	sum := resourcehelper.AggregateContainerRequests(&v1.Pod{Spec: *s}, resourcehelper.PodResourcesOptions{})
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		if q, set := s.Resources.Requests[name]; set && q.Cmp(sum[name]) < 0 {
			need := sum[name]
			errs = append(errs, field.Invalid(at.Child("requests").Key(string(name)), q.String(), "must be at least the sum of the containers' requests, "+need.String()))
		}
	}
	for i := range s.Containers {
		limits := s.Containers[i].Resources.Limits
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			q := limits[name]
			if most, set := s.Resources.Limits[name]; set && q.Cmp(most) > 0 {
				errs = append(errs, field.Invalid(path.Child("containers").Index(i).Child("resources", "limits").Key(string(name)), q.String(), "must be at most the pod's limit of "+most.String()))
			}
		}
	}
	return errs
}

// validateResizePolicy checks resizePolicy.
//
// Upstream: pkg/apis/core/validation/validation.go, validateResizePolicy.
func validateResizePolicy(list []v1.ContainerResizePolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, p := range list {
		at := path.Index(i)
		errs = append(errs, oneOf(at.Child("resourceName"), p.ResourceName, v1.ResourceCPU, v1.ResourceMemory)...)
		errs = append(errs, oneOf(at.Child("restartPolicy"), p.RestartPolicy, v1.NotRequired, v1.RestartContainer)...)
		errs = append(errs, unique(names, at.Child("resourceName"), string(p.ResourceName))...)
	}
	return errs
}

func validateQuantities(list v1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		at, quantity := path.Key(string(name)), list[name]
		errs = append(errs, validateResourceName(name, at)...)
		if quantity.Sign() < 0 {
			errs = append(errs, field.Invalid(at, quantity.String(), "must be greater than or equal to 0"))
		}
		size, huge := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
		switch {
		case huge:
			if page, err := apiresource.ParseQuantity(size); err != nil || page.Sign() <= 0 || !multiple(quantity, page) {
				errs = append(errs, field.Invalid(at, quantity.String(), "must be a multiple of the page size"))
			}
		case !overcommit(name) && quantity.MilliValue()%1000 != 0:
			errs = append(errs, field.Invalid(at, quantity.String(), "must be an integer"))
		}
	}
	return errs
}

func hasCompute(list v1.ResourceList) bool {
	_, cpu := list[v1.ResourceCPU]
	_, memory := list[v1.ResourceMemory]
	return cpu || memory
}

func hasPages(list v1.ResourceList) bool {
	for name := range list {
		if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
			return true
		}
	}
	return false
}

// multiple reports whether q is a whole number of pages.
func multiple(q, page apiresource.Quantity) bool {
	n, whole := q.AsInt64()
	size, ok := page.AsInt64()
	return whole && ok && n%size == 0
}

func validateResourceName(name v1.ResourceName, path *field.Path) field.ErrorList {
	n := string(name)
	if errs := messages(path, n, validation.IsQualifiedName(n)); len(errs) > 0 {
		return errs
	}
	if strings.Contains(n, "/") || strings.HasPrefix(n, v1.ResourceHugePagesPrefix) {
		return nil
	}
	return oneOf(path, name, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage)
}
