package dra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// getTimeout is how long a request for a claim may take, getAtOnce how many of a pod are requested at the same time.
	getTimeout = 30 * time.Second
	getAtOnce  = 8
)

// wanted is a claim that a pod may use.
type wanted struct {
	namespace, name string
	uid             types.UID
	// drivers are those that have devices of it.
	drivers map[string]checkpoint.Driver
}

func (w *wanted) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: w.name}
}

// fetch reads the pod's claims and checks that the pod may use them, and that their drivers are there. It changes nothing.
func (m *Manager) fetch(ctx context.Context, pod *v1.Pod) ([]*wanted, error) {
	all, err := refs(pod)
	if err != nil {
		return nil, err
	}
	out := make([]*wanted, len(all))
	errs := make([]error, len(all))
	var g errgroup.Group
	g.SetLimit(getAtOnce)
	for i, r := range all {
		g.Go(func() error {
			out[i], errs[i] = m.fetchOne(ctx, pod, r)
			return nil
		})
	}
	_ = g.Wait() // its functions return no error
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *Manager) fetchOne(ctx context.Context, pod *v1.Pod, r ref) (*wanted, error) {
	c, err := m.get(ctx, pod.Namespace, r.name)
	problem := &Error{Namespace: pod.Namespace, Name: r.name}
	if err != nil {
		problem.Fault, problem.Err = trace.FaultAPI, fmt.Errorf("fetch ResourceClaim %s: %w", r.name, err)
		if apierrors.IsNotFound(err) {
			problem.Fault = trace.FaultNotFound
		}
		return nil, problem
	}
	problem.UID = string(c.UID)
	if problem.Fault, problem.Err = m.check(pod, c, r.owned); problem.Err != nil {
		return nil, problem
	}
	w := &wanted{namespace: pod.Namespace, name: c.Name, uid: c.UID, drivers: allocated(c)}
	for _, name := range driversFor(w.drivers, resourceapi.SkipNodeOperationNodePrepareResources) {
		if _, err := m.drivers.Get(name); err != nil {
			problem.Fault, problem.Driver, problem.Err = trace.FaultDriverMissing, name, err
			return nil, problem
		}
	}
	return w, nil
}

// get requests a claim.
func (m *Manager) get(ctx context.Context, namespace, name string) (*resourceapi.ResourceClaim, error) {
	if m.cfg.Claims == nil {
		return nil, errors.New("this node has no API server")
	}
	wait := trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetResourceClaim, Namespace: namespace, Name: name}, Limit: getTimeout}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(m.cfg.Bus, span, wait) }()
	ctx, cancel := context.WithTimeout(trace.ContextWith(ctx, span), getTimeout)
	defer cancel()
	return m.cfg.Claims.Get(ctx, namespace, name)
}

// check checks that the claim is the pod's and that the kubelet can handle it.
//
// Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, IsForPod, IsReservedForPod; pkg/kubelet/cm/dra/claiminfo.go.
func (m *Manager) check(pod *v1.Pod, c *resourceapi.ResourceClaim, owned bool) (trace.ClaimFault, error) {
	if owned && !metav1.IsControlledBy(c, pod) && !(m.cfg.PodGroups && ofGroup(pod, c)) {
		return trace.FaultNotOwned, fmt.Errorf("ResourceClaim %s/%s was not created for Pod %s/%s (Pod is not owner)", c.Namespace, c.Name, pod.Namespace, pod.Name)
	}
	if !m.reserved(pod, c) {
		fault := trace.FaultUnreserved
		if c.Status.Allocation == nil {
			fault = trace.FaultUnallocated // the scheduler does both
		}
		return fault, fmt.Errorf("pod %s (%s) is not allowed to use ResourceClaim %s (%s)", pod.Name, pod.UID, c.Name, c.UID)
	}
	if c.Status.Allocation == nil {
		return trace.FaultUnallocated, fmt.Errorf("ResourceClaim %s: not allocated", c.Name)
	}
	if m.cfg.OptionalCalls {
		return "", nil
	}
	for _, d := range allocated(c) {
		if len(d.SkipNodeOperations) > 0 {
			return trace.FaultUnsupported, fmt.Errorf("ResourceClaim %s: DRAOptionalNodeOperations feature gate is disabled on kubelet", c.Name)
		}
	}
	return "", nil
}

func (m *Manager) reserved(pod *v1.Pod, c *resourceapi.ResourceClaim) bool {
	group := groupOf(pod)
	for _, r := range c.Status.ReservedFor {
		if r.UID == pod.UID {
			return true
		}
		if m.cfg.PodGroups && group != "" && r.APIGroup == schedulingapi.GroupName && r.Resource == "podgroups" && r.Name == group {
			return true
		}
	}
	return false
}

// groupOf returns the name of the pod's PodGroup, "" if it has none.
func groupOf(pod *v1.Pod) string {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}

// ofGroup reports whether a claim was made for the pod's PodGroup.
func ofGroup(pod *v1.Pod, c *resourceapi.ResourceClaim) bool {
	group, o := groupOf(pod), metav1.GetControllerOfNoCopy(c)
	return group != "" && o != nil && o.Name == group && o.Kind == "PodGroup" && strings.HasPrefix(o.APIVersion, schedulingapi.GroupName+"/")
}
