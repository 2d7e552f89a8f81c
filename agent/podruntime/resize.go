package podruntime

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Resizes stores which resources containers were given. Container "" is the pod itself.
type Resizes interface {
	Actuated(uid types.UID, container string) (v1.ResourceRequirements, bool)
	Actuate(pod *v1.Pod, container string) error
	// Limit returns the size limit that a volume in memory has, Limited records that it has that of the pod's spec.
	Limit(uid types.UID, volume string) (resource.Quantity, bool)
	Limited(pod *v1.Pod, volume string) error
	// InProgress reports whether a resize was allocated and Done has not followed.
	InProgress(uid types.UID) bool
	// Begin says that the pod's cgroups begin to change; Done or Failed follows.
	Begin(uid types.UID)
	// Done reports that the whole pod has its resources, Failed why they could not be set.
	Done(ctx context.Context, pod *v1.Pod)
	Failed(ctx context.Context, pod *v1.Pod, message string)
}

// Updates is the part of the CRI that changes the limits of running containers and sandboxes.
type Updates interface {
	UpdatePodSandboxResources(context.Context, *runtimeapi.UpdatePodSandboxResourcesRequest, ...grpc.CallOption) (*runtimeapi.UpdatePodSandboxResourcesResponse, error)
	UpdateContainerResources(context.Context, *runtimeapi.UpdateContainerResourcesRequest, ...grpc.CallOption) (*runtimeapi.UpdateContainerResourcesResponse, error)
	ContainerStats(context.Context, *runtimeapi.ContainerStatsRequest, ...grpc.CallOption) (*runtimeapi.ContainerStatsResponse, error)
}

// PodLimits sets the limits of a pod's cgroup.
type PodLimits interface {
	ResizePod(ctx context.Context, pod *v1.Pod, r qos.Resources) error
	// MemoryUsage returns the memory that the pod's cgroup uses, in bytes; false if it is not known.
	MemoryUsage(pod *v1.Pod) (bytes int64, known bool)
	// MemoryLimit returns the limit of memory that the pod's cgroup has, in bytes; false if it has none, or if that is not known.
	MemoryLimit(pod *v1.Pod) (bytes int64, known bool)
}

func (r *Runtime) resizes() bool {
	return r.cfg.Resizes != nil && r.cfg.Updates != nil && r.cfg.PodLimits != nil
}

func (r *run) given(container string) (v1.ResourceRequirements, bool) {
	return r.cfg.Resizes.Actuated(r.pod.UID, container)
}

// resizePod enlarges the pod's cgroup for old and new limits, or at the end sets the new ones.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doPodResizeAction.
func (r *run) resizePod(ctx context.Context, s *Step) error {
	limits, before := r.podLimits(), r.grown
	if s.ID == stepGrow {
		r.cfg.Resizes.Begin(r.pod.UID)
		if err := r.checkMemory(ctx); err != nil {
			return err
		}
		if err := r.resizeVolumes(stepGrow); err != nil {
			return err
		}
		before = r.limitsOf(withGiven(r.pod, r.given))
		limits = most(limits, before)
	} else if r.stopsFirst() {
		if err := r.checkPodMemory(r.podLimits().Memory); err != nil {
			return fmt.Errorf("cannot decrease memory limits: %w", err)
		}
	}
	if err := r.setPodLimits(ctx, before, limits); err != nil {
		return err
	}
	if s.ID == stepGrow {
		r.grown = limits
		return nil
	}
	if err := r.resizeVolumes(stepSettle); err != nil {
		return err
	}
	if err := r.settled(); err != nil {
		return err
	}
	// The status has the kernel's current values.
	if _, err := r.cfg.Observer.Refresh(ctx, r.pod.UID); err != nil {
		return err
	}
	r.cfg.Resizes.Done(ctx, r.pod)
	return nil
}

// settled records that the pod has its resources, and that each container without a process would be created with them: one that has ended and
// never runs again needs no further resize.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, IsPodResizeInProgress, which ignores containers that do not run.
func (r *run) settled() error {
	if err := r.cfg.Resizes.Actuate(r.pod, ""); err != nil {
		return err
	}
	for c := range podspec.Each(r.pod) {
		if cur := r.seen.Newest(c.Name); cur != nil && cur.State != podstate.Exited {
			continue
		}
		if err := r.cfg.Resizes.Actuate(r.pod, c.Name); err != nil {
			return err
		}
	}
	return nil
}

// setPodLimits changes the limits of the pod's cgroup from those before. The runtime, whose sandbox may be a virtual machine, is told first and can
// refuse them. If they cannot be set, it is told that those before apply.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doPodResizeAction.
func (r *run) setPodLimits(ctx context.Context, before, limits qos.Resources) error {
	if err := r.tellRuntime(ctx, before, limits); err != nil {
		return fmt.Errorf("resize rejected by the runtime: %w", err)
	}
	err := r.cfg.PodLimits.ResizePod(ctx, r.pod, limits)
	if err != nil {
		_ = r.tellRuntime(ctx, limits, before) // the call is published, and the resize has failed anyway
	}
	return err
}

// tellRuntime tells the runtime which limits the sandbox gets, unless it was told so last. At first it has those before.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, updatePodSandboxResources.
func (r *run) tellRuntime(ctx context.Context, before, limits qos.Resources) error {
	req, last := criconfig.SandboxUpdate(r.pod, r.sandboxID, limits, r.cfg.Node), criconfig.SandboxUpdate(r.pod, r.sandboxID, before, r.cfg.Node)
	r.learn(r.pod.UID, func(k *knowledge) {
		if k.told.GetPodSandboxId() != r.sandboxID {
			k.told = last
		}
		last = k.told
	})
	if proto.Equal(req, last) {
		return nil
	}
	_, err := r.cfg.Updates.UpdatePodSandboxResources(ctx, req)
	if unimplemented(err) {
		err = nil
	}
	told := req
	if err != nil {
		told = &runtimeapi.UpdatePodSandboxResourcesRequest{PodSandboxId: r.sandboxID} // it may have had its effect
	}
	r.learn(r.pod.UID, func(k *knowledge) { k.told = told })
	return err
}

// unimplemented reports whether the runtime does not have a call. Containerd 2.2 has it, and answers that it is not implemented.
func unimplemented(err error) bool {
	code := status.Code(err)
	return code == codes.Unimplemented || code == codes.Unknown && strings.Contains(err.Error(), "not implemented")
}

// ensureCgroup creates the pod's cgroup. If the pod is resized, it still has the limits that it had: the steps of the resize change them, after
// they have checked what is in use. A new agent knows no limits, and ensures the cgroup first, unless the pod uses more than the containers were
// given: then the resize has failed so far, and the cgroup has the limit from before.
func (r *run) ensureCgroup(ctx context.Context) error {
	r.learn(r.pod.UID, func(k *knowledge) { k.noCgroup = false })
	pod := r.pod
	if r.plan.has(stepGrow) {
		pod = withGiven(pod, r.given)
		if r.checkPodMemory(r.limitsOf(pod).Memory) != nil {
			return nil
		}
	}
	return r.cfg.Cgroups.EnsurePod(ctx, pod)
}

func (r *run) removeCgroup(ctx context.Context) error {
	err := r.cfg.Cgroups.DestroyPod(ctx, r.pod.UID)
	if err == nil {
		r.learn(r.pod.UID, func(k *knowledge) { k.noCgroup = true })
	}
	return err
}

func (r *run) cfsPeriod() time.Duration { return cmp.Or(r.cfg.Node.CFSPeriod, qos.DefaultPeriod) }

func (r *run) cfsQuota() bool { return r.cfg.Node.CFSQuota && !r.ownCPUs() }

func (r *run) podLimits() qos.Resources { return r.limitsOf(r.pod) }

func (r *run) limitsOf(pod *v1.Pod) qos.Resources {
	return qos.PodResources(pod, r.cfg.Node.Claims, r.cfsQuota(), r.cfsPeriod())
}

// stopsFirst reports whether containers are stopped before the pod's cgroup gets its final limits: what they use is free then.
func (r *run) stopsFirst() bool {
	var needs []string
	for i := range r.plan.Steps {
		if s := &r.plan.Steps[i]; s.ID == stepSettle {
			needs = s.Needs
		}
	}
	return slices.ContainsFunc(r.plan.Steps, func(s Step) bool { return s.Verb == trace.VerbKill && slices.Contains(needs, s.ID) })
}

// most returns the larger one of each limit.
func most(a, b qos.Resources) qos.Resources {
	a.CPUShares = max(a.CPUShares, b.CPUShares)
	larger := func(x, y *int64) *int64 {
		if x == nil || y == nil || *x <= 0 || *y <= 0 { // no limit is larger than any limit
			return nil
		}
		return new(max(*x, *y))
	}
	a.CPUQuota, a.Memory = larger(a.CPUQuota, b.CPUQuota), larger(a.Memory, b.Memory)
	return a
}

// resize sets a running container's new limits.
func (r *run) resize(ctx context.Context, s *Step) error {
	if _, err := r.cfg.Updates.UpdateContainerResources(ctx, r.updateRequest(s)); err != nil {
		return fmt.Errorf("resize container %s: %w", s.Container, err)
	}
	return r.cfg.Resizes.Actuate(r.pod, s.Container)
}

func (r *run) updateRequest(s *Step) *runtimeapi.UpdateContainerResourcesRequest {
	own := false
	if r.cfg.Pinning != nil {
		_, _, own = r.cfg.Pinning.Of(r.pod.UID, s.Container)
	}
	return &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: s.Target, Linux: criconfig.Resources(r.pod, podspec.Container(r.pod, s.Container), r.cfg.Node, own),
	}
}

// checkMemory rejects limits below the current use, of the pod and of containers: the kernel would kill processes. That of the pod is checked
// later if containers are stopped first.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, validateMemoryResizeAction. It does not check the pod's limit if no
// container's resources change.
func (r *run) checkMemory(ctx context.Context) error {
	var errs []error
	if !r.stopsFirst() {
		if err := r.checkPodMemory(r.podLimits().Memory); err != nil {
			errs = append(errs, err)
		}
	}
	before, _ := r.given("")
	for _, s := range r.plan.Steps {
		if s.Verb != trace.VerbResize {
			continue
		}
		c := podspec.Container(r.pod, s.Container)
		was, _ := r.given(c.Name)
		has, wants := amountsOf(&before, was).memoryLimit, amountsOf(r.pod.Spec.Resources, c.Resources).memoryLimit
		if wants == 0 || has > 0 && wants >= has {
			continue
		}
		stats, err := r.cfg.Updates.ContainerStats(ctx, &runtimeapi.ContainerStatsRequest{ContainerId: s.Target})
		if err != nil {
			return fmt.Errorf("unable to read memory usage for pod %q: %w", formatPod(r.pod), err)
		}
		if used := stats.GetStats().GetMemory().GetUsageBytes().GetValue(); used >= uint64(wants) {
			errs = append(errs, fmt.Errorf("attempting to set container %q memory limit (%d) below current usage (%d)", c.Name, wants, used))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("cannot decrease memory limits: %w", utilerrors.NewAggregate(errs))
	}
	return nil
}

// checkPodMemory rejects a memory limit of the pod below what it uses now, if it is smaller than the one that its cgroup has: that may also be
// the limit of an earlier attempt.
func (r *run) checkPodMemory(wants *int64) error {
	if wants == nil || *wants <= 0 {
		return nil
	}
	if has, limited := r.cfg.PodLimits.MemoryLimit(r.pod); limited && has <= *wants {
		return nil
	}
	if used, known := r.cfg.PodLimits.MemoryUsage(r.pod); known && used >= *wants {
		return fmt.Errorf("attempting to set pod memory limit (%d) below current usage (%d)", *wants, used)
	}
	return nil
}

// actuated records that a new container was created with the resources of the pod's spec.
func (r *run) actuated(container string) error {
	if !r.resizes() {
		return nil
	}
	return r.cfg.Resizes.Actuate(r.pod, container)
}
