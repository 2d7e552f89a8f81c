package podcert

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// The delay between attempts doubles from the first to the last, and has jitter.
	firstDelay = time.Second
	lastDelay  = 5 * time.Minute
	// overdueAfter is how long after the time of its renewal a certificate is overdue.
	overdueAfter = 10 * time.Minute
	// maxJitter spreads renewals.
	maxJitter = 5 * time.Minute
)

// RefusedError says that a signer will never issue the certificate.
type RefusedError struct {
	// Failed says that the signer failed; otherwise it denied the request.
	Failed                   bool
	Request, Reason, Message string
}

// Error implements error.
func (e *RefusedError) Error() string {
	verb := "denied"
	if e.Failed {
		verb = "failed"
	}
	return fmt.Sprintf("PodCertificateRequest was permanently %s: reason=%q message=%q", verb, e.Reason, e.Message)
}

// keep gets and renews a credential until ctx ends or the signer refuses.
func (m *Manager) keep(ctx context.Context, at source, c *credential, pod *v1.Pod, src *v1.PodCertificateProjection) {
	pauses := backoff.Jittered(firstDelay, lastDelay, 1)
	for ctx.Err() == nil {
		key, done, err := m.issue(ctx, pod, src)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Log{
				Level: "warn", Message: "a certificate was not issued; retrying",
				Attrs: []trace.KV{{K: "volume", V: at.volume}, {K: "err", V: err.Error()}},
			})
			pause(ctx, pauses.Step())
			continue
		}
		pauses = backoff.Jittered(firstDelay, lastDelay, 1)
		refused := verdict(done)
		m.set(at, c, key, done, refused)
		if refused != nil {
			m.tell(ctx, pod, done, refused)
			return
		}
		m.watchOver(ctx, c, pod, done)
		for at := done.Status.BeginRefreshAt.Add(rand.N(maxJitter)); ctx.Err() == nil && time.Now().Before(at); {
			pause(ctx, clock.Until(at))
		}
	}
}

// set stores the issued credential, or the refusal.
func (m *Manager) set(at source, c *credential, key []byte, done *certv1.PodCertificateRequest, refused *RefusedError) {
	m.cfg.Secrets.Learn(string(at.uid), fmt.Sprintf("key %s %d", at.volume, at.index), string(key))
	m.mu.Lock()
	if refused != nil {
		c.key, c.chain, c.err = nil, nil, refused
	} else {
		c.key, c.chain = key, cleanChain([]byte(done.Status.CertificateChain))
		c.overdue, c.expires = done.Status.BeginRefreshAt.Add(overdueAfter), done.Status.NotAfter.Time
	}
	select {
	case <-c.ready:
	default:
		close(c.ready)
	}
	m.mu.Unlock()
	m.cfg.Changed(at.uid, at.volume)
}

func (m *Manager) tell(ctx context.Context, pod *v1.Pod, done *certv1.PodCertificateRequest, e *RefusedError) {
	if m.cfg.Events == nil {
		return
	}
	reason, verb := certv1.PodCertificateRequestConditionTypeDenied, "was denied"
	if e.Failed {
		reason, verb = certv1.PodCertificateRequestConditionTypeFailed, "failed"
	}
	m.cfg.Events.Pod(ctx, pod, "", v1.EventTypeWarning, reason,
		fmt.Sprintf("PodCertificateRequest %s/%s %s, reason=%q, message=%q", done.Namespace, done.Name, verb, e.Reason, e.Message))
}

// issue creates a key and a request, and waits for the signer.
func (m *Manager) issue(ctx context.Context, pod *v1.Pod, src *v1.PodCertificateProjection) ([]byte, *certv1.PodCertificateRequest, error) {
	req, key, err := m.request(ctx, pod, src)
	if err != nil {
		return nil, nil, err
	}
	api := m.cfg.Client.CertificatesV1().PodCertificateRequests(pod.Namespace)
	req, err = api.Create(ctx, req, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("create PodCertificateRequest: %w", err)
	}
	done, err := m.answer(ctx, req)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("wait for PodCertificateRequest %s/%s: %w", req.Namespace, req.Name, err)
	case verdict(done) == nil && (done.Status.BeginRefreshAt == nil || done.Status.NotAfter == nil):
		return nil, nil, fmt.Errorf("PodCertificateRequest %s/%s is issued without beginRefreshAt or notAfter", req.Namespace, req.Name)
	}
	return key, done, nil
}

// errDeleted says that a request no longer exists, so that nobody will answer it.
var errDeleted = errors.New("it was deleted")

// answer waits for the signer, however long it takes and whatever happens to the API server meanwhile. It fails only if the request is deleted,
// or ctx ends.
//
// Upstream: pkg/kubelet/podcertificate/podcertificatemanager.go, credStateWait.
func (m *Manager) answer(ctx context.Context, req *certv1.PodCertificateRequest) (*certv1.PodCertificateRequest, error) {
	pauses := backoff.Jittered(firstDelay, lastDelay, 1)
	for {
		done, err := m.look(ctx, req)
		switch {
		case err == nil || errors.Is(err, errDeleted):
			return done, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, watchtools.ErrWatchClosed):
			pauses = backoff.Jittered(firstDelay, lastDelay, 1)
		default:
			trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Log{
				Level: "warn", Message: "a certificate's request cannot be read; retrying",
				Attrs: []trace.KV{{K: "request", V: req.Namespace + "/" + req.Name}, {K: "err", V: err.Error()}},
			})
		}
		pause(ctx, pauses.Step())
	}
}

// look returns the request when it is answered. Nodes may only read their own requests.
func (m *Manager) look(ctx context.Context, req *certv1.PodCertificateRequest) (*certv1.PodCertificateRequest, error) {
	api := m.cfg.Client.CertificatesV1().PodCertificateRequests(req.Namespace)
	own := fields.Set{"metadata.name": req.Name, "spec.nodeName": m.cfg.NodeName}.AsSelector().String()
	now, err := api.List(ctx, metav1.ListOptions{FieldSelector: own})
	if err != nil {
		return nil, err
	}
	there := false
	for i := range now.Items {
		if r := &now.Items[i]; r.Name == req.Name {
			there = true
			if answered(r) {
				return r, nil
			}
		}
	}
	if !there {
		return nil, errDeleted
	}
	w, err := api.Watch(ctx, metav1.ListOptions{FieldSelector: own, ResourceVersion: now.ResourceVersion})
	if err != nil {
		return nil, err
	}
	ev, err := watchtools.UntilWithoutRetry(ctx, w, func(ev watch.Event) (bool, error) {
		got, ok := ev.Object.(*certv1.PodCertificateRequest)
		if ok && got.Name == req.Name && ev.Type == watch.Deleted {
			return false, errDeleted
		}
		return ok && got.Name == req.Name && answered(got), nil
	})
	if err != nil {
		return nil, err
	}
	return ev.Object.(*certv1.PodCertificateRequest), nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
