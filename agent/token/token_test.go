package token

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
)

// accounts is an API server that numbers its tokens.
type accounts struct {
	typedv1.ServiceAccountInterface
	made  int
	err   error
	until time.Time // end of err; zero means never
}

func (a *accounts) ServiceAccounts(string) kubeapi.ServiceAccounts { return a }

func (a *accounts) CreateToken(_ context.Context, _ string, want *authenticationv1.TokenRequest, _ metav1.CreateOptions) (*authenticationv1.TokenRequest, error) {
	if a.err != nil && (a.until.IsZero() || time.Now().Before(a.until)) {
		return nil, a.err
	}
	a.made++
	got := want.DeepCopy()
	got.Status.Token = string(rune('0' + a.made))
	got.Status.ExpirationTimestamp = metav1.NewTime(time.Now().Add(time.Duration(*want.Spec.ExpirationSeconds) * time.Second))
	return got, nil
}

func want(pod, audience string, seconds int64) *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{audience}, ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", Name: "web", UID: types.UID("uid-" + pod)},
	}}
}

func manager(t *testing.T) (*Manager, *accounts, func(*authenticationv1.TokenRequest) string) {
	a := &accounts{}
	m, err := New(Config{Accounts: a})
	if err != nil {
		t.Fatal(err)
	}
	return m, a, func(w *authenticationv1.TokenRequest) string {
		t.Helper()
		got, err := m.Token(t.Context(), "ns", "sa", w)
		if err != nil {
			return err.Error()
		}
		return got.Status.Token
	}
}

func TestKeptAndReplaced(t *testing.T) {
	for name, tc := range map[string]struct{ seconds, due int64 }{
		"four fifths of an hour": {3600, 2880}, "a day of a year": {365 * 86400, 86400},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _, get := manager(t)
				w := want("p", "", tc.seconds)
				if get(w) != "1" || get(w.DeepCopy()) != "1" {
					t.Error("not kept")
				}
				due := time.Duration(tc.due) * time.Second
				at := time.Until(m.RefreshAt("ns", "sa", w))
				if at > due || at < due-maxJitter {
					t.Errorf("to be replaced after %v, want about %v", at, due)
				}
				time.Sleep(at - 1)
				if got := get(w); got != "1" {
					t.Errorf("too soon: %s", got)
				}
				time.Sleep(time.Nanosecond)
				if got := get(w); got != "2" || !m.RefreshAt("ns", "sa", w).After(time.Now()) {
					t.Errorf("not replaced: %s", got)
				}
			})
		})
	}
}

func TestValidWhileItCannotBeReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a, get := manager(t)
		w := want("p", "", 3600)
		get(w)
		a.err = errors.New("connection refused")
		time.Sleep(3000 * time.Second)
		if got := get(w); got != "1" {
			t.Errorf("got %s while the old one is valid", got)
		}
		if at := time.Until(m.RefreshAt("ns", "sa", w)); at < retryAfter || at > retryAfter+maxJitter {
			t.Errorf("again after %v", at)
		}
		time.Sleep(700 * time.Second)
		if got := get(w); !strings.Contains(got, "expired and refresh failed: connection refused") {
			t.Errorf("got %s", got)
		}
		a.err = nil
		if got := get(w); got != "2" || len(m.kept) != 1 {
			t.Errorf("got %s, %d are kept", got, len(m.kept))
		}
	})
}

func TestEachItsOwn(t *testing.T) {
	m, _, get := manager(t)
	for i, w := range []*authenticationv1.TokenRequest{want("p", "", 3600), want("q", "", 3600), want("p", "vault", 3600), want("p", "", 7200)} {
		if got := get(w); got != string(rune('1'+i)) {
			t.Errorf("request %d got token %s", i, got)
		}
	}
	m.Forget("uid-p")
	if len(m.kept) != 1 {
		t.Errorf("%d are kept", len(m.kept))
	}
	if got := get(want("p", "", 3600)); got != "5" {
		t.Errorf("a forgotten pod got token %s", got)
	}
}

// The API server sees the pod a little later than the node does.
func TestRefusedAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, get := manager(t)
		refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "sa", errors.New("no relationship found"))
		a.err = refusal
		if got := get(want("p", "", 3600)); !strings.HasPrefix(got, "failed to fetch token: ") || !strings.Contains(got, "no relationship found") {
			t.Errorf("got %s", got)
		}
		a.until = time.Now().Add(lastRefusal / 4)
		if got := get(want("p", "", 3600)); got != "1" {
			t.Errorf("got %s", got)
		}
	})
}
