package podruntime

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// configure builds the sandbox's config, once per run: creating a container needs it too.
func (r *run) configure(ctx context.Context, attempt uint32) (*runtimeapi.PodSandboxConfig, []criconfig.Warning, error) {
	dns, warnings, err := r.cfg.DNS(r.pod)
	if err != nil {
		return nil, nil, fmt.Errorf("DNS of %s: %w", r.ref, err)
	}
	in := criconfig.SandboxInput{Attempt: attempt, CgroupParent: r.cfg.Cgroups.PodParent(r.pod), DNS: dns}
	in.ExclusiveCPUs = r.ownCPUs()
	if in.UserNS, err = r.userNS(ctx); err != nil {
		return nil, nil, err
	}
	if r.cfg.ExtraGroups != nil {
		in.ExtraGroups = r.cfg.ExtraGroups(r.pod)
	}
	cfg, err := criconfig.Sandbox(r.pod, r.cfg.Node, in)
	return cfg, warnings, err
}

// configOfSandbox returns the config of the pod's current sandbox.
func (r *run) configOfSandbox(ctx context.Context) (*runtimeapi.PodSandboxConfig, error) {
	if r.sandboxConfig != nil {
		return r.sandboxConfig, nil
	}
	var attempt uint32
	if sb := r.seen.Sandbox(); sb != nil {
		attempt = sb.Attempt
	}
	cfg, _, err := r.configure(ctx, attempt)
	return cfg, err
}

// ownCPUs reports whether a container of the pod has CPUs for itself: then the pod has no CPU quota.
func (r *run) ownCPUs() bool { return r.cfg.Pinning != nil && r.cfg.Pinning.Own(r.pod.UID) }

// userNS returns the pod's user namespace, nil if it uses the node's.
func (r *run) userNS(ctx context.Context) (*runtimeapi.UserNamespace, error) {
	if r.cfg.UserNS == nil {
		return nil, nil
	}
	if err := r.canUserNS(ctx); err != nil {
		return nil, fmt.Errorf("user namespace of %s: %w", r.ref, err)
	}
	ns, err := r.cfg.UserNS.Of(r.pod)
	if err != nil {
		return nil, fmt.Errorf("user namespace of %s: %w", r.ref, err)
	}
	return ns, nil
}

// sandboxRequest builds the request for the pod's sandbox.
func (r *run) sandboxRequest(ctx context.Context, attempt uint32) (*runtimeapi.RunPodSandboxRequest, []criconfig.Warning, error) {
	cfg, warnings, err := r.configure(ctx, attempt)
	if err != nil {
		return nil, nil, err
	}
	handler, err := r.handler(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &runtimeapi.RunPodSandboxRequest{Config: cfg, RuntimeHandler: handler}, warnings, nil
}

// runSandbox creates the sandbox and gets its addresses.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go, createPodSandbox.
func (r *run) runSandbox(ctx context.Context, s *Step) error {
	r.sayChanged(ctx)
	req, warnings, err := r.sandboxRequest(ctx, s.Attempt)
	if err != nil {
		r.say(ctx, "Warning", "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error(), "")
		return err
	}
	for _, w := range warnings {
		r.say(ctx, "Warning", w.Reason, w.Message, "")
		if w.Node != "" {
			r.warnNode(ctx, w.Reason, w.Node)
		}
	}
	call, done := patient(ctx)
	res, err := r.cfg.Sandboxes.RunPodSandbox(call, req)
	done()
	if err != nil {
		if r.cfg.SandboxFailed != nil {
			r.cfg.SandboxFailed(err)
		}
		if ctx.Err() == nil { // the failure is not the pod's if it was deleted meanwhile
			r.say(ctx, "Warning", "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error(), "")
		}
		return fmt.Errorf("create sandbox for %s: %w", r.ref, explainDriver(err))
	}
	r.sandboxConfig, r.sandboxID = req.GetConfig(), res.GetPodSandboxId()
	r.acted(r.pod.UID, func(k *knowledge) { k.sandboxes[r.sandboxID] = true })
	err = r.readIPs(ctx)
	if err != nil && ctx.Err() == nil {
		r.say(ctx, "Warning", "FailedPodSandBoxStatus", "Unable to get pod sandbox status: "+err.Error(), "")
	}
	if err == nil {
		r.progress(ctx)
	}
	return err
}

// sayChanged emits the Event that a sandbox is replaced, once in a run, and before anything of it is stopped.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, SyncPod.
func (r *run) sayChanged(ctx context.Context) {
	if r.seen.Sandbox() == nil {
		return
	}
	r.changed.Do(func() {
		r.say(ctx, "Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.", "")
	})
}

// readIPs gets the sandbox's addresses, which the environment and the hosts file may contain.
func (r *run) readIPs(ctx context.Context) error {
	if r.pod.Spec.HostNetwork {
		r.podIPs = r.cfg.HostIPs()
		return nil
	}
	st, err := r.cfg.Sandboxes.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: r.sandboxID})
	if err != nil {
		return fmt.Errorf("status of sandbox %s: %w", shortID(r.sandboxID), err)
	}
	r.podIPs = nil
	if ip := st.GetStatus().GetNetwork().GetIp(); ip != "" {
		r.podIPs = append(r.podIPs, ip)
	}
	for _, ip := range st.GetStatus().GetNetwork().GetAdditionalIps() {
		r.podIPs = append(r.podIPs, ip.GetIp())
	}
	return nil
}

// stopSandbox stops a sandbox and its network; one that no longer exists is no error.
func (r *run) stopSandbox(ctx context.Context, s *Step) error {
	_, err := r.cfg.Sandboxes.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.Target})
	if err != nil && !gone(err) {
		return fmt.Errorf("stop sandbox %s: %w", shortID(s.Target), err)
	}
	r.acted(r.pod.UID, func(k *knowledge) {
		k.sandboxes[s.Target] = false
		k.stop(s.Target, r.seen)
	})
	return nil
}

// removeSandbox removes a sandbox and its containers.
func (r *run) removeSandbox(ctx context.Context, s *Step) error {
	_, err := r.cfg.Sandboxes.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.Target})
	if err != nil && !gone(err) {
		return fmt.Errorf("remove sandbox %s: %w", shortID(s.Target), err)
	}
	r.acted(r.pod.UID, func(k *knowledge) {
		delete(k.sandboxes, s.Target)
		delete(k.stopped, s.Target)
		if r.seen == nil {
			return
		}
		for _, c := range r.seen.Containers {
			if c.SandboxID == s.Target {
				delete(k.containers, c.ID)
			}
		}
	})
	return nil
}
