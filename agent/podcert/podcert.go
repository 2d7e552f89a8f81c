// Package podcert gets pods their certificates, for podCertificate sources of projected volumes.
//
// It owns the keys, which never leave the node, the requests for certificates, and their renewal at the time that the
// signer sets, or up to five minutes later. It returns an old certificate until there is a new one. A request that the
// signer denies or fails is final; one that is pending is waited for while it exists. It writes no file.
//
// Goroutines: one for each source of each pod, until Forget or the end of Run.
//
// It publishes Wait begin/end of kind object while a pod waits for its first certificate.
//
// Upstream: pkg/kubelet/podcertificate/podcertificatemanager.go.
package podcert

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// firstTimeout limits the wait for a first certificate; the request continues.
const firstTimeout = 10 * time.Second

// Config is what a Manager needs.
type Config struct {
	Client   kubeapi.Interface
	NodeName string
	// NodeUID returns the UID of the Node object, "" while it is unknown.
	NodeUID func() types.UID
	// Changed is called for a volume with a new certificate. It must not block: volume.Manager's Refresh.
	Changed func(uid types.UID, volumes ...string)
	// Events may be nil.
	Events events.Publisher
	Bus    *trace.Bus
	// Secrets learns the keys; may be nil.
	Secrets *redact.Vault
}

// Manager gets certificates. Safe for concurrent use.
type Manager struct {
	cfg  Config
	life context.Context // of requests, which do not end with a caller
	end  context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	ended bool
	held  map[source]*credential
}

// source is a podCertificate source of a pod.
type source struct {
	uid    types.UID
	volume string
	index  int
}

// credential is what a source contains, guarded by the Manager's mu.
type credential struct {
	key, chain []byte
	err        error         // permanent
	ready      chan struct{} // closed when one of these is set
	stop       context.CancelFunc
	// signer is whom the source names; overdue is when the certificate should have been renewed, and expires when it expires.
	signer           string
	overdue, expires time.Time
	renewed          context.CancelFunc // ends the warnings about the certificate; nil before the first one
}

// New checks the configuration.
func New(cfg Config) (*Manager, error) {
	if cfg.Client == nil || cfg.NodeName == "" || cfg.NodeUID == nil || cfg.Changed == nil {
		return nil, errors.New("podcert: Config.Client, NodeName, NodeUID or Changed is missing")
	}
	m := &Manager{cfg: cfg, held: map[source]*credential{}}
	m.life, m.end = context.WithCancel(context.Background())
	return m, nil
}

// Run returns when ctx and all requests have ended.
func (m *Manager) Run(ctx context.Context) error {
	<-ctx.Done()
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	m.end()
	m.work.Wait()
	return nil
}

// Certificate returns the private key and the certificate chain of a source, in PEM. It waits at most 10 s for the first one; a
// further call checks the same request.
func (m *Manager) Certificate(ctx context.Context, pod *v1.Pod, volume string, index int) (key, chain []byte, err error) {
	c, err := m.credential(source{pod.UID, volume, index}, pod)
	if err != nil {
		return nil, nil, err
	}
	if err := m.await(ctx, volume, c.ready); err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return c.key, c.chain, c.err
}

// credential returns a source's credential, and requests it if it is new.
func (m *Manager) credential(at source, pod *v1.Pod) (*credential, error) {
	src, err := projection(pod, at)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.held[at]; c != nil {
		return c, nil
	}
	if m.ended {
		return nil, errors.New("podcert: the agent stops")
	}
	ctx, stop := context.WithCancel(trace.ContextWith(m.life, trace.ForPod(trace.Span{}, trace.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)})))
	c := &credential{ready: make(chan struct{}), stop: stop, signer: src.SignerName}
	m.held[at] = c
	m.work.Go(func() { m.keep(ctx, at, c, pod, src) })
	return c, nil
}

func projection(pod *v1.Pod, at source) (*v1.PodCertificateProjection, error) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Name == at.volume && v.Projected != nil && at.index < len(v.Projected.Sources) {
			if src := v.Projected.Sources[at.index].PodCertificate; src != nil {
				return src, nil
			}
		}
	}
	return nil, fmt.Errorf("podcert: volume %q has no podCertificate in sources[%d]", at.volume, at.index)
}

func (m *Manager) await(ctx context.Context, volume string, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	default:
	}
	wait := trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetPodCertificate, Name: volume}, Limit: firstTimeout}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(m.cfg.Bus, span, wait) }()
	timer := time.NewTimer(firstTimeout)
	defer timer.Stop()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errors.New("credential bundle is not issued yet")
	}
}

// Forget removes a pod's credentials.
func (m *Manager) Forget(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, c := range m.held {
		if at.uid == pod {
			c.stop()
			delete(m.held, at)
		}
	}
}
