// Package token gets service account tokens for pods.
//
// It owns the tokens until they expire or their pod is forgotten, and decides when each is replaced: at 80 % of its lifetime, or
// after a day, with some jitter. A token that could not be replaced is used while it is valid. It never writes a token anywhere. It
// runs no goroutine. It publishes Wait begin/end of kind object around each request, and of kind backoff while the API server does
// not know yet that the pod is on this node.
//
// Upstream: pkg/kubelet/token/token_manager.go.
package token

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	maxAge    = 24 * time.Hour
	maxJitter = 10 * time.Second
	// retryAfter is the delay before a failed request is repeated, if there is still a valid token.
	retryAfter = 30 * time.Second
	// requestTimeout limits one request, so that a dead connection does not block callers.
	requestTimeout = 10 * time.Second
)

// Config is what a Manager needs.
type Config struct {
	// Accounts is the API: a client's CoreV1().
	Accounts kubeapi.ServiceAccountsGetter
	Bus      *trace.Bus
	// Secrets learns each token; may be nil.
	Secrets *redact.Vault
}

// Manager gets and keeps tokens. Safe for concurrent use.
type Manager struct {
	cfg Config

	mu   sync.Mutex
	kept map[string]*kept
}

// kept is a token and the time of its replacement.
type kept struct {
	token     *authenticationv1.TokenRequest
	pod       types.UID
	refreshAt time.Time // zero: never
}

// New checks the configuration.
func New(cfg Config) (*Manager, error) {
	if cfg.Accounts == nil {
		return nil, errors.New("token: Config.Accounts is missing")
	}
	return &Manager{cfg: cfg, kept: map[string]*kept{}}, nil
}

// Token returns a valid token for want, from an earlier request if it need not be replaced yet. The result is shared: do not change
// it.
func (m *Manager) Token(ctx context.Context, namespace, account string, want *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	k := keyOf(namespace, account, want)
	have := m.lookUp(k)
	if have != nil && !have.due(time.Now()) {
		return have.token, nil
	}
	got, err := m.request(ctx, namespace, account, want)
	if err != nil {
		return m.fallBack(k, have, err)
	}
	m.cfg.Secrets.Learn(string(podOf(want)), "token "+k, got.Status.Token)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.kept[k] = &kept{token: got, pod: podOf(want), refreshAt: refreshAt(got)}
	return got, nil
}

// fallBack returns the existing token, if it is valid.
func (m *Manager) fallBack(k string, have *kept, err error) (*authenticationv1.TokenRequest, error) {
	if have == nil {
		return nil, fmt.Errorf("failed to fetch token: %w", err)
	}
	if have.expired(time.Now()) {
		return nil, fmt.Errorf("token %s expired and refresh failed: %w", k, err)
	}
	trace.Point(m.cfg.Bus, trace.Span{}, trace.Log{
		Level: "warn", Message: "cannot replace a token; the old one is still valid",
		Attrs: []trace.KV{{K: "token", V: k}, {K: "err", V: err.Error()}},
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept[k] == have {
		m.kept[k] = &kept{token: have.token, pod: have.pod, refreshAt: time.Now().Add(retryAfter + rand.N(maxJitter))}
	}
	return have.token, nil
}

// RefreshAt returns when Token must be called again for the same request; zero means never, or that there is no token
// yet.
func (m *Manager) RefreshAt(namespace, account string, want *authenticationv1.TokenRequest) time.Time {
	if have := m.lookUp(keyOf(namespace, account, want)); have != nil {
		return have.refreshAt
	}
	return time.Time{}
}

// Forget removes the tokens that are bound to a pod.
func (m *Manager) Forget(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, t := range m.kept {
		if t.pod == pod {
			delete(m.kept, k)
		}
	}
}

func (m *Manager) lookUp(k string) *kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[k]
}

// sweep removes expired tokens. Called with mu.
func (m *Manager) sweep() {
	now := time.Now()
	for k, t := range m.kept {
		if t.expired(now) {
			delete(m.kept, k)
		}
	}
}

func (k *kept) due(now time.Time) bool { return !k.refreshAt.IsZero() && !now.Before(k.refreshAt) }

func (k *kept) expired(now time.Time) bool { return now.After(k.token.Status.ExpirationTimestamp.Time) }

// refreshAt returns when a token must be replaced.
//
// Upstream: pkg/kubelet/token/token_manager.go, requiresRefresh.
func refreshAt(t *authenticationv1.TokenRequest) time.Time {
	if t.Spec.ExpirationSeconds == nil {
		return time.Time{}
	}
	life := time.Duration(*t.Spec.ExpirationSeconds) * time.Second
	end := t.Status.ExpirationTimestamp.Time
	at := end.Add(-life / 5)
	if old := end.Add(maxAge - life); old.Before(at) {
		at = old
	}
	return at.Add(-rand.N(maxJitter))
}

func podOf(want *authenticationv1.TokenRequest) types.UID {
	if want.Spec.BoundObjectRef == nil {
		return ""
	}
	return want.Spec.BoundObjectRef.UID
}

// keyOf returns a key that distinguishes requests. It contains nothing secret.
func keyOf(namespace, account string, want *authenticationv1.TokenRequest) string {
	var seconds int64
	if want.Spec.ExpirationSeconds != nil {
		seconds = *want.Spec.ExpirationSeconds
	}
	var ref authenticationv1.BoundObjectReference
	if want.Spec.BoundObjectRef != nil {
		ref = *want.Spec.BoundObjectRef
	}
	return fmt.Sprintf("%s/%s audiences=%q seconds=%d bound=%s/%s/%s account-uid=%q",
		namespace, account, want.Spec.Audiences, seconds, ref.Kind, ref.Name, ref.UID, want.UID)
}

func (m *Manager) create(ctx context.Context, namespace, account string, want *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	return m.cfg.Accounts.ServiceAccounts(namespace).CreateToken(ctx, account, want, metav1.CreateOptions{})
}
