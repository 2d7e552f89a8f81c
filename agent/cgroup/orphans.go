package cgroup

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Clean removes the cgroups of unknown pods, kills their processes, and returns what it removed. If one cannot be removed, it
// continues with the others. Each removal is published as a decision.
//
// Upstream: pkg/kubelet/kubelet_pods.go, cleanupOrphanedPodCgroups.
func (m *Manager) Clean(ctx context.Context, known func(types.UID) bool) (removed []string, err error) {
	if m == nil {
		return nil, nil
	}
	all, err := m.List(ctx)
	if err != nil {
		return nil, err
	}
	for uid, paths := range all {
		if known(uid) {
			continue
		}
		trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Decision{
			By: trace.ByOrphans, Subject: "cgroup " + paths[0], Verdict: trace.VerdictRemove, Reason: "its pod is unknown",
		})
		if e := m.DestroyPod(ctx, uid); e != nil {
			err = errors.Join(err, e)
			continue
		}
		removed = append(removed, fmt.Sprintf("cgroup of pod %s", uid))
	}
	return removed, err
}
