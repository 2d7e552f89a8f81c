package agent

import (
	"context"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/kubeloupe/kubeloupe/agent/device"
	"github.com/kubeloupe/kubeloupe/agent/dra"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// newClaims creates the manager of ResourceClaims. A standalone node has drivers, but no claims.
func (p *parts) newClaims() (err error) {
	gates := p.cfg.Kubelet.Gates
	c := dra.Config{
		Dir: p.inRoot(), NodeName: p.cfg.NodeName, Pod: p.pods.store.Newest, Active: p.host.managers.Active, Complete: p.host.managers.Complete,
		Retry: p.wakes("a DRA driver can be used now", true), HealthMessages: gates.Enabled("ResourceHealthStatusMessage"),
		OptionalCalls: gates.Enabled("DRAOptionalNodeOperations"), PodGroups: gates.Enabled("DRAWorkloadResourceClaims"), Bus: p.cfg.Bus,
	}
	if gates.Enabled("ResourceHealthStatus") {
		c.HealthChanged = p.wakes("the health of its devices has changed", false)
	}
	if !p.cluster.alone() {
		api := p.cluster.clients.Main.ResourceV1()
		c.Claims, c.Slices = claimReader{api}, api.ResourceSlices()
	}
	if p.pods.claims, err = dra.New(c); err != nil {
		return err
	}
	p.pods.plugins[registerapi.DRAPlugin] = p.pods.claims
	p.add("resource claims", p.pods.claims.Run)
	return nil
}

// wakes returns a function that has the workers of pods look at them again; with retry, also those that wait after a failure.
func (p *parts) wakes(why string, retry bool) func([]types.UID) {
	return func(uids []types.UID) {
		for _, uid := range uids {
			p.pods.registry.Wake(uid, worker.Cause{Text: why, Retry: retry})
		}
	}
}

// claimReader implements dra.Claims.
type claimReader struct {
	api kubeapi.ResourceV1
}

// Get implements dra.Claims.
func (r claimReader) Get(ctx context.Context, namespace, name string) (*resourceapi.ResourceClaim, error) {
	return r.api.ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

// deviceHealth is the health of the devices of device plugins and of ResourceClaims.
type deviceHealth struct {
	devices *device.Manager
	claims  *dra.Manager
}

// Status implements what pods.StatusConfig needs.
func (h deviceHealth) Status(pod *v1.Pod, container string) []v1.ResourceStatus {
	return append(h.devices.Status(pod.UID, container), h.claims.Status(pod, container)...)
}
