package podruntime

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// configure makes the sandbox's config, once per run: creating a container needs it too.
func (r *run) configure(attempt uint32) (*runtimeapi.PodSandboxConfig, []criconfig.Warning, error) {
	dns, warnings := r.cfg.DNS(r.pod)
	cfg, err := criconfig.Sandbox(r.pod, r.cfg.Node, criconfig.SandboxInput{
		Attempt: attempt, CgroupParent: r.cfg.Cgroups.PodParent(r.pod), DNS: dns,
	})
	return cfg, warnings, err
}

// runSandbox makes the sandbox and learns its addresses.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go, createPodSandbox.
func (r *run) runSandbox(ctx context.Context, s *Step) error {
	cfg, warnings, err := r.configure(s.Attempt)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		r.say(ctx, "Warning", w.Reason, w.Message, "")
	}
	res, err := r.cfg.Sandboxes.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: cfg})
	if err != nil {
		r.say(ctx, "Warning", "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error(), "")
		return fmt.Errorf("create sandbox for %s: %w", r.ref, err)
	}
	r.sandboxConfig, r.sandboxID = cfg, res.GetPodSandboxId()
	r.acted(r.pod.UID, func(k *knowledge) { k.sandboxes[r.sandboxID] = true })
	return r.readIPs(ctx)
}

// readIPs asks for the sandbox's addresses, which env and the hosts file may name.
func (r *run) readIPs(ctx context.Context) error {
	if r.pod.Spec.HostNetwork {
		r.podIPs = r.cfg.HostIPs
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

// stopSandbox ends a sandbox; one that is gone already is fine.
func (r *run) stopSandbox(ctx context.Context, s *Step) error {
	_, err := r.cfg.Sandboxes.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.Target})
	if err != nil && !gone(err) {
		return fmt.Errorf("stop sandbox %s: %w", shortID(s.Target), err)
	}
	r.acted(r.pod.UID, func(k *knowledge) { k.sandboxes[s.Target] = false })
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
