package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type verdict struct {
	allowed bool
	reason  string
}

var errContradiction = errors.New("webhook subject access review returned both allow and deny response")

// Authorize returns whether the user may do verb (get, create, ...) on this node's subresource. The error means that the check
// failed.
//
// Upstream: apiserver/plugin/pkg/authorizer/webhook/webhook.go.
func (a *Auth) Authorize(ctx context.Context, u *User, verb, subresource string) (allowed bool, reason string, err error) {
	if a.cfg.AlwaysAllow {
		return true, "AlwaysAllow", nil
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: u.Name, UID: u.UID, Groups: u.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Version: "v1", Resource: "nodes", Subresource: subresource, Name: a.cfg.Node,
		},
	}
	if len(u.Extra) > 0 {
		spec.Extra = make(map[string]authorizationv1.ExtraValue, len(u.Extra))
		for k, v := range u.Extra {
			spec.Extra[k] = v
		}
	}
	key, err := json.Marshal(&spec)
	if err != nil {
		return false, "", err
	}
	// A known user can have many identities, for example a new credential ID with each token: so the user's name is the
	// source here.
	v, err := a.access.get(ctx, sha256.Sum256(key), u.Name, func(ctx context.Context) (verdict, time.Duration, error) {
		v, err := a.reviewAccess(ctx, spec)
		if v.allowed {
			return v, a.cfg.AllowedTTL, err
		}
		return v, a.cfg.DeniedTTL, err
	})
	return v.allowed, v.reason, err
}

func (a *Auth) reviewAccess(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (verdict, error) {
	var got *authorizationv1.SubjectAccessReview
	err := retry(ctx, func(ctx context.Context) (err error) {
		got, err = a.cfg.Access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return verdict{}, fmt.Errorf("review of access to nodes/%s: %w", spec.ResourceAttributes.Subresource, err)
	}
	if got.Status.Allowed && got.Status.Denied {
		return verdict{}, errContradiction
	}
	return verdict{allowed: got.Status.Allowed, reason: got.Status.Reason}, nil
}
