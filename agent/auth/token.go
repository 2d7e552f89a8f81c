package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/conns"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxToken is more than any Kubernetes token needs: those of service accounts have 1 to 2 KiB.
const maxToken = 64 << 10

// errUnknownToken is the error for a token that the API server does not know. Its sender is not anonymous.
var errUnknownToken = errors.New("invalid bearer token")

// token returns the user of the request's bearer token; nil without an error if there is no token.
//
// Upstream: apiserver/plugin/pkg/authenticator/token/webhook/webhook.go; apiserver/pkg/authentication/request/bearertoken/bearertoken.go.
func (a *Auth) token(r *http.Request) (*User, error) {
	if a.cfg.Tokens == nil {
		return nil, nil
	}
	token, err := bearer(r)
	if err != nil || token == "" {
		return nil, err
	}
	if len(token) > maxToken {
		return nil, fmt.Errorf("bearer token of %d bytes: at most %d are reviewed", len(token), maxToken)
	}
	key := sha256.Sum256([]byte(token)) // the token itself is not kept
	user, err := a.tokens.get(r.Context(), key, conns.Source(r.RemoteAddr), func(ctx context.Context) (*User, time.Duration, error) {
		user, err := a.reviewToken(ctx, token)
		if user == nil {
			return nil, min(a.cfg.TokenTTL, refusedTTL), err
		}
		return user, a.cfg.TokenTTL, err
	})
	switch {
	case err != nil:
		return nil, err
	case user == nil:
		return nil, errUnknownToken
	}
	r.Header.Del("Authorization") // it is not passed on
	return user, nil
}

func (a *Auth) reviewToken(ctx context.Context, token string) (*User, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	var got *authenticationv1.TokenReview
	err := retry(ctx, func(ctx context.Context) (err error) {
		got, err = a.cfg.Tokens.Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("review of a bearer token: %w", err)
	case !got.Status.Authenticated && got.Status.Error != "":
		return nil, fmt.Errorf("review of a bearer token: %s", got.Status.Error)
	case !got.Status.Authenticated:
		return nil, nil
	}
	u := got.Status.User
	user := &User{Name: u.Username, UID: u.UID, Groups: authenticated(u.Groups), How: trace.CredentialToken, Extra: map[string][]string{}}
	for k, v := range u.Extra {
		user.Extra[k] = v
	}
	return user, nil
}

// bearer returns the request's token: from its header or, because browsers cannot set that, from the WebSocket
// protocols, from which it is removed. The error says that the protocols have a token that is not valid.
//
// Upstream: apiserver/pkg/authentication/request/websocket/protocol.go.
func bearer(r *http.Request) (string, error) {
	if scheme, token, ok := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " "); ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token), nil
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return "", nil
	}
	const (
		header = "Sec-Websocket-Protocol"
		prefix = "base64url.bearer.authorization.k8s.io."
	)
	var tokens, others []string
	for p := range strings.SplitSeq(strings.Join(r.Header.Values(header), ","), ",") {
		p = strings.TrimSpace(p)
		if encoded, ok := strings.CutPrefix(p, prefix); ok {
			tokens = append(tokens, encoded)
		} else {
			others = append(others, p)
		}
	}
	token, err := decode(tokens)
	switch {
	case err != nil || token == "":
		return "", err
	case len(others) == 0: // one protocol must remain for the negotiation
		return "", errors.New("missing additional subprotocol")
	}
	r.Header.Set(header, strings.Join(others, ","))
	return token, nil
}

// decode returns the only one of the tokens that WebSocket protocols have; "" if there is none.
func decode(tokens []string) (string, error) {
	if len(tokens) == 0 {
		return "", nil
	}
	if len(tokens) > 1 {
		return "", errors.New("multiple base64.bearer.authorization tokens specified")
	}
	token, err := base64.RawURLEncoding.DecodeString(tokens[0])
	switch {
	case err != nil:
		return "", errors.New("invalid base64.bearer.authorization token encoding")
	case !utf8.Valid(token):
		return "", errors.New("invalid base64.bearer.authorization token")
	}
	return string(token), nil
}
