package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/conns"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxToken is more than any Kubernetes token needs: those of service accounts have 1 to 2 KiB.
const maxToken = 64 << 10

// token returns the user of the request's bearer token; nil without an error if there is no token or it is unknown.
//
// Upstream: apiserver/plugin/pkg/authenticator/token/webhook/webhook.go.
func (a *Auth) token(r *http.Request) (*User, error) {
	token := bearer(r)
	if a.cfg.Tokens == nil || token == "" {
		return nil, nil
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
	if err == nil && user != nil {
		r.Header.Del("Authorization") // it is not passed on
	}
	return user, err
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
	user := &User{Name: u.Username, UID: u.UID, Groups: u.Groups, How: trace.CredentialToken, Extra: map[string][]string{}}
	if !slices.Contains(user.Groups, allAuthenticated) {
		user.Groups = append(slices.Clone(user.Groups), allAuthenticated)
	}
	for k, v := range u.Extra {
		user.Extra[k] = v
	}
	return user, nil
}

// bearer returns the request's token: from its header or, because browsers cannot set that, from the WebSocket
// protocols, from which it is removed.
//
// Upstream: apiserver/pkg/authentication/request/websocket/protocol.go.
func bearer(r *http.Request) string {
	if scheme, token, ok := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " "); ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token)
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return ""
	}
	const (
		header = "Sec-Websocket-Protocol"
		prefix = "base64url.bearer.authorization.k8s.io."
	)
	var token string
	var others []string
	for p := range strings.SplitSeq(strings.Join(r.Header.Values(header), ","), ",") {
		p = strings.TrimSpace(p)
		encoded, ok := strings.CutPrefix(p, prefix)
		if !ok {
			others = append(others, p)
		} else if decoded, err := base64.RawURLEncoding.DecodeString(encoded); err == nil && token == "" {
			token = string(decoded)
		}
	}
	if token == "" || len(others) == 0 { // one protocol must remain for the negotiation
		return ""
	}
	r.Header.Set(header, strings.Join(others, ","))
	return token
}
