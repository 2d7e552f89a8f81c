package provider

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1 "k8s.io/kubelet/config/v1"

	"github.com/kubeloupe/kubeloupe/agent/image"
)

// account is the service account for which a provider is called; zero for none.
type account struct {
	origin      *image.Origin
	token       string
	annotations map[string]string
}

// account returns the account for which the provider is called. False means that it must not be called: it requires a
// service account, or one with annotations, and the pod has none.
func (p *provider) account(ctx context.Context, pod *v1.Pod) (account, bool, error) {
	a := p.spec.TokenAttributes
	if a == nil {
		return account{}, true, nil
	}
	if pod == nil || pod.Spec.ServiceAccountName == "" {
		return account{}, !*a.RequireServiceAccount, nil
	}
	namespace, name := pod.Namespace, pod.Spec.ServiceAccountName
	sa, err := p.cfg.ServiceAccounts.ServiceAccount(ctx, namespace, name)
	if err != nil {
		return account{}, false, fmt.Errorf("failed to get service account %s/%s: %w", namespace, name, err)
	}
	who := account{origin: &image.Origin{UID: string(sa.UID), Namespace: namespace, Name: name}, annotations: map[string]string{}}
	for _, key := range a.RequiredServiceAccountAnnotationKeys {
		value, ok := sa.Annotations[key]
		if !ok {
			return account{}, false, nil // a workload opts out like this
		}
		who.annotations[key] = value
	}
	for _, key := range a.OptionalServiceAccountAnnotationKeys {
		if value, ok := sa.Annotations[key]; ok {
			who.annotations[key] = value
		}
	}
	tr, err := p.cfg.Tokens.Token(ctx, namespace, name, &authenticationv1.TokenRequest{
		ObjectMeta: metav1.ObjectMeta{UID: sa.UID},
		Spec: authenticationv1.TokenRequestSpec{
			Audiences:      []string{a.ServiceAccountTokenAudience},
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		},
	})
	if err != nil {
		return account{}, false, fmt.Errorf("failed to get a token of service account %s/%s: %w", namespace, name, err)
	}
	who.token = tr.Status.Token
	return who, true, nil
}

// hash distinguishes tokens without storing them.
func (a account) hash() string {
	if a.token == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(a.token)))
}

func (a account) annotationsKey() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(a.annotations)) {
		parts = append(parts, k, a.annotations[k])
	}
	return join(parts...)
}

// key returns the cache key for answers for this account; "" without one.
func (a account) key(attributes *kubeletv1.ServiceAccountTokenAttributes) string {
	if a.origin == nil {
		return ""
	}
	parts := []string{a.origin.Namespace, a.origin.Name, a.origin.UID, a.annotationsKey()}
	if attributes.CacheType == kubeletv1.TokenServiceAccountTokenCacheType {
		parts = append(parts, a.hash())
	}
	return join(parts...)
}

// join returns one key for several parts; different parts give different keys.
func join(parts ...string) string { return fmt.Sprintf("%q", parts) }
