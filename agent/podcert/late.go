package podcert

import (
	"context"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
)

// watchOver has warnLate warn about a new certificate, and no longer about the one before.
func (m *Manager) watchOver(ctx context.Context, c *credential, pod *v1.Pod, done *certv1.PodCertificateRequest) {
	ctx, cancel := context.WithCancel(ctx)
	m.mu.Lock()
	if c.renewed != nil {
		c.renewed()
	}
	c.renewed = cancel
	m.mu.Unlock()
	m.work.Go(func() { m.warnLate(ctx, pod, done) })
}

// warnLate publishes Events when the renewal of a certificate is overdue and when the certificate expires, until ctx ends.
//
// Upstream: pkg/kubelet/podcertificate/podcertificatemanager.go, handleProjection.
func (m *Manager) warnLate(ctx context.Context, pod *v1.Pod, done *certv1.PodCertificateRequest) {
	for _, e := range []struct {
		at              time.Time
		reason, message string
	}{
		{done.Status.BeginRefreshAt.Add(overdueAfter), "CertificateOverdueForRefresh", "PodCertificate refresh overdue"},
		{done.Status.NotAfter.Time, "CertificateExpired", "PodCertificate expired"},
	} {
		for time.Now().Before(e.at) {
			if pause(ctx, clock.Until(e.at)); ctx.Err() != nil {
				return
			}
		}
		if m.cfg.Events != nil {
			m.cfg.Events.Pod(ctx, pod, "", v1.EventTypeWarning, e.reason, e.message)
		}
	}
}
