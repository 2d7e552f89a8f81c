package podruntime

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The back-off between attempts to prepare the claims of one pod. A driver that registers, and a new status of the pod, do not wait for it.
const (
	claimsFirst = time.Second
	claimsLast  = 30 * time.Second
)

// claimsOf returns whether the pod has claims, and whether they are known to be prepared.
func (r *Runtime) claimsOf(pod *v1.Pod) ClaimState {
	failed := false
	r.learn(pod.UID, func(k *knowledge) { failed = k.claimFails > 0 })
	switch {
	case r.cfg.Claims == nil || !r.cfg.Claims.Has(pod):
		return ClaimsNone
	case failed:
		return ClaimsFailed
	case r.cfg.Claims.Ready(pod):
		return ClaimsReady
	}
	return ClaimsUnready
}

// prepareClaims has drivers prepare the pod's claims.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, SyncPod.
func (r *run) prepareClaims(ctx context.Context) error {
	err := r.cfg.Claims.Prepare(ctx, r.pod)
	if err == nil {
		r.learn(r.pod.UID, func(k *knowledge) { k.claimFails = 0 })
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	r.say(ctx, "Warning", "FailedPrepareDynamicResources", "Failed to prepare dynamic resources: "+err.Error(), "")
	fails := 0
	r.learn(r.pod.UID, func(k *knowledge) {
		fails = k.claimFails
		k.claimFails++
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retryAt = earlier(r.retryAt, time.Now().Add(backoff.After(backoff.Doubling(claimsFirst, claimsLast), fails)))
	return err
}

// takeClaims adds the devices of a container's claims.
func (r *run) takeClaims(c *v1.Container, in *criconfig.ContainerInput) error {
	if r.cfg.Claims == nil {
		return nil
	}
	devices, err := r.cfg.Claims.Container(r.pod, c)
	if err != nil {
		return &criconfig.Error{Reason: criconfig.ReasonContainerConfig, Container: c.Name, Field: "resources.claims", Err: err}
	}
	in.CDIDevices = append(devices, in.CDIDevices...)
	return nil
}

// releaseClaims has the pod's claims unprepared when nothing of it runs any more, and before its final status: then its claims may be given
// to others.
//
// Upstream: pkg/kubelet/kubelet.go, SyncTerminatingPod.
func (p *Plan) releaseClaims() {
	needs := make([]string, 0, len(p.Steps))
	for i := range p.Steps {
		needs = append(needs, p.Steps[i].ID)
	}
	p.add(Step{ID: "release-claims", Verb: trace.VerbReleaseClaims, Needs: needs})
}
