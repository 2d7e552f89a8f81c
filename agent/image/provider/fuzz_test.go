package provider

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1 "k8s.io/kubelet/config/v1"

	"github.com/kubeloupe/kubeloupe/agent/image"
)

// FuzzAnswer decodes a credential provider's output, which may be text of a registry.
func FuzzAnswer(f *testing.F) {
	const version = "credentialprovider.kubelet.k8s.io/v1"
	head := `{"kind":"CredentialProviderResponse","apiVersion":"` + version + `",`
	for _, s := range []string{
		"", "{}", "null", head + `"cacheKeyType":"Registry","cacheDuration":"6h","auth":{"registry.example.com":{"username":"u","password":"hunter2"}}}`,
		head + `"cacheKeyType":"Image","auth":{"*.example.com":{"password":"the-token"}}}`, head + `"cacheKeyType":"Global","cacheDuration":"-1s"}`,
		head + `"cacheKeyType":"Nobody"}`, head + `"auth":["hunter2"]}`, `{"kind":"` + strings.Repeat("x", 5000) + `"}`, head + `"cacheDuration":"9999999999h"}`, strings.Repeat("[", 20_000),
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, answer []byte, byToken bool) {
		resp, err := parseAnswer(answer, version)
		if err != nil {
			if len(err.Error()) > 1000 || strings.Contains(err.Error(), "hunter2") {
				t.Fatalf("it repeats the answer: %v", err)
			}
			return
		}
		attributes := &kubeletv1.ServiceAccountTokenAttributes{CacheType: kubeletv1.ServiceAccountServiceAccountTokenCacheType}
		if byToken {
			attributes.CacheType = kubeletv1.TokenServiceAccountTokenCacheType
		}
		p := &provider{spec: kubeletv1.CredentialProvider{
			Name: "p", APIVersion: version, TokenAttributes: attributes, DefaultCacheDuration: &metav1.Duration{Duration: time.Minute},
		}}
		who := account{origin: &image.Origin{Namespace: "shop", Name: "web", UID: "1"}, token: "the-token"}
		logins, err := p.take(resp, "registry.example.com/a", who)
		cached, kept := p.cache.get("registry.example.com/a", who.key(attributes))
		if err != nil {
			if kept || len(err.Error()) > 1000 {
				t.Fatalf("kept %v: %v", kept, err)
			}
			return
		}
		if len(logins) != len(resp.Auth) || kept && len(cached) != len(logins) {
			t.Fatalf("%d logins and %d kept of %d", len(logins), len(cached), len(resp.Auth))
		}
		for place, l := range logins {
			if l.Password == who.token && !byToken {
				t.Fatalf("%s: the token would be kept for another", place)
			}
		}
		if other, ok := p.cache.get("registry.example.com/a", account{origin: &image.Origin{Namespace: "shop", Name: "db", UID: "2"}}.key(attributes)); ok {
			t.Fatalf("another account gets %v", other)
		}
	})
}
