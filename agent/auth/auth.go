package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TokenReviews is kubernetes.Interface.AuthenticationV1().TokenReviews().
type TokenReviews interface {
	Create(context.Context, *authenticationv1.TokenReview, metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// AccessReviews is kubernetes.Interface.AuthorizationV1().SubjectAccessReviews().
type AccessReviews interface {
	Create(context.Context, *authorizationv1.SubjectAccessReview, metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error)
}

// Config is authentication and authorization of KubeletConfiguration.
type Config struct {
	// Node is the node's name.
	Node string
	// ClientCAFile has the CA certificates of clients; "" means none. It is read again when it changes.
	ClientCAFile string
	// Tokens reviews bearer tokens; if nil, they are refused.
	Tokens TokenReviews
	// TokenTTL is how long a verdict on a token is valid.
	TokenTTL time.Duration
	// Anonymous authorizes requests without credentials as system:anonymous.
	Anonymous bool
	// AlwaysAllow allows every request of an authenticated user; otherwise Access decides.
	AlwaysAllow bool
	Access      AccessReviews
	// AllowedTTL and DeniedTTL are how long a verdict on access is valid.
	AllowedTTL, DeniedTTL time.Duration
}

// User is an authenticated client.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
	// How is the kind of credential.
	How trace.Credential
}

// Auth authenticates and authorizes. Safe for concurrent use.
type Auth struct {
	cfg    Config
	cas    *caFile
	tokens *verdicts[*User]
	access *verdicts[verdict]
}

// New checks the configuration and reads the client CA.
func New(cfg Config) (*Auth, error) {
	if !cfg.AlwaysAllow && cfg.Access == nil {
		return nil, errors.New("auth: authorization.mode Webhook needs a connection to the API server; without one it must be AlwaysAllow")
	}
	a := &Auth{
		cfg:    cfg,
		tokens: newVerdicts(newLimit(tokenFailures), func(u *User) bool { return u != nil }),
		access: newVerdicts(newLimit(accessFailures), func(v verdict) bool { return v.allowed }),
	}
	if cfg.ClientCAFile != "" {
		a.cas = &caFile{path: cfg.ClientCAFile}
		if _, err := a.cas.get(); err != nil {
			return nil, fmt.Errorf("authentication.x509.clientCAFile: %w", err)
		}
	}
	return a, nil
}

const (
	allAuthenticated   = "system:authenticated"
	allUnauthenticated = "system:unauthenticated"
)

// authenticated returns the groups of an authenticated user.
//
// Upstream: apiserver/pkg/authentication/group/authenticated_group_adder.go.
func authenticated(groups []string) []string {
	if slices.Contains(groups, allAuthenticated) || slices.Contains(groups, allUnauthenticated) {
		return groups
	}
	return append(slices.Clone(groups), allAuthenticated)
}

// Authenticate returns the client's user; nil means that the client is unknown. The error means that the credentials are invalid or
// could not be reviewed; then the user is nil.
//
// Upstream: apiserver/pkg/authentication/authenticatorfactory/delegating.go.
func (a *Auth) Authenticate(r *http.Request) (*User, error) {
	user, certErr := a.certificate(r)
	if user != nil {
		return user, nil
	}
	user, err := a.token(r)
	switch {
	case user != nil:
		return user, nil
	case certErr != nil || err != nil:
		return nil, errors.Join(certErr, err)
	case a.cfg.Anonymous:
		return &User{Name: "system:anonymous", Groups: []string{allUnauthenticated}, How: trace.CredentialAnonymous}, nil
	}
	return nil, nil
}
