package provider

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

var _ image.Providers = (*Providers)(nil)

// api is the API server.
type api struct{ annotations map[string]string }

func (a api) Token(_ context.Context, namespace, name string, req *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	req = req.DeepCopy()
	req.Status.Token = fmt.Sprintf("token-of-%s-%s-for-%s-%s", namespace, name, req.Spec.Audiences[0], req.Spec.BoundObjectRef.Name)
	return req, nil
}

func (a api) ServiceAccount(context.Context, string, string) (*v1.ServiceAccount, error) {
	return &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "sa", Annotations: a.annotations}}, nil
}

const one = `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: ecr
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["*.r.io/team", "q.io:5000"]
  defaultCacheDuration: 1h
  args: [get]
  env: [{name: WHO, value: me}]
`

// world has a provider that records its requests and responds with that text.
func world(t *testing.T, config, answer string) (Config, func() []string, *tracetest.Recorder) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho \"$1 $WHO $(cat)\" >> %s\n%s\n", log, answer)
	if err := os.WriteFile(filepath.Join(dir, "ecr"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := tracetest.New(t)
	calls := func() []string {
		raw, err := os.ReadFile(log)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(raw)), "\n")
	}
	return Config{Path: path, BinDir: dir, Tokens: api{}, ServiceAccounts: api{}, Bus: rec.Bus()}, calls, rec
}

func answer(extra string) string {
	return `echo '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1",` + extra + `}'`
}

const auth = `"auth":{"*.r.io":{"username":"u","password":"p"},"other.io":{"username":"x","password":"y"}}`

func users(creds []image.Credential) string {
	var out []string
	for _, c := range creds {
		out = append(out, c.Auth.Username+":"+c.Auth.Password)
	}
	return strings.Join(out, " ")
}

func TestLookup(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		calls  int // for three look-ups: twice a.r.io/team/app, then a.r.io/team/db
	}{
		"cached by image":    {answer(`"cacheKeyType":"Image",` + auth), 2},
		"cached by registry": {answer(`"cacheKeyType":"Registry",` + auth), 1},
		"cached for all":     {answer(`"cacheKeyType":"Global","cacheDuration":"5m",` + auth), 1},
		"not cached":         {answer(`"cacheKeyType":"Global","cacheDuration":"0s",` + auth), 3},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, calls, rec := world(t, one, tt.answer)
			p, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			for _, repo := range []string{"a.r.io/team/app", "a.r.io/team/app", "a.r.io/team/db"} {
				if got := users(p.Lookup(t.Context(), repo, nil)); got != "u:p" {
					t.Errorf("%s: %q", repo, got)
				}
			}
			if got := p.Lookup(t.Context(), "a.r.io/alone", nil); got != nil {
				t.Errorf("not for it, and got %v", got)
			}
			got := calls()
			if len(got) != tt.calls {
				t.Errorf("%d calls, want %d", len(got), tt.calls)
			}
			want := `get me {"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"a.r.io/team/app"}`
			if d := cmp.Diff(want, got[0]); d != "" {
				t.Error(d)
			}
			if n := len(tracetest.Events[trace.Wait](rec)); n != 2*tt.calls {
				t.Errorf("%d edges of waits", n)
			}
		})
	}
}

func TestSharedCall(t *testing.T) {
	cfg, calls, rec := world(t, one, "sleep 0.3; "+answer(`"cacheKeyType":"Image",`+auth))
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if got := users(p.Lookup(t.Context(), "a.r.io/team/app", nil)); got != "u:p" {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
	if got := calls(); len(got) != 1 {
		t.Errorf("%d calls", len(got))
	}
	own := 0
	for _, r := range rec.OfKind("pod.wait") {
		if w, ok := r.Event.(*trace.Wait); ok && r.Edge == trace.EdgeEnd && !w.Shared && w.Cause == "" {
			own++
		}
	}
	if own != 1 {
		t.Errorf("%d waits that are not shared", own)
	}
}

// A provider that fails is in the wait for it, and its configuration has upstream's hash.
func TestFailedCall(t *testing.T) {
	cfg, _, rec := world(t, one, "exit 3")
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.Lookup(t.Context(), "a.r.io/team/app", nil)
	waits := tracetest.Events[trace.Wait](rec)
	if n := len(waits); n != 2 || waits[1].Shared || !strings.Contains(waits[1].Cause, "exit status 3") {
		t.Errorf("%+v", waits)
	}
	raw, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, uint64(len(raw))), raw...))
	if got := p.ConfigHash(); got != fmt.Sprintf("sha256:%x", want) {
		t.Errorf("hash %s", got)
	}
}

func TestServiceAccount(t *testing.T) {
	config := one + `  tokenAttributes:
    serviceAccountTokenAudience: r.io
    requireServiceAccount: true
    cacheType: ServiceAccount
    requiredServiceAccountAnnotationKeys: [r.io/role]
`
	cfg, calls, rec := world(t, config, answer(`"cacheKeyType":"Registry",`+auth))
	cfg.ServiceAccounts = api{map[string]string{"r.io/role": "puller", "other": "x"}}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cart", Namespace: "shop", UID: "9f"}, Spec: v1.PodSpec{ServiceAccountName: "web"}}
	for range 2 {
		got := p.Lookup(t.Context(), "a.r.io/team/app", pod)
		if users(got) != "u:p" || got[0].ServiceAccount == nil || *got[0].ServiceAccount != (image.Origin{UID: "sa", Namespace: "shop", Name: "web"}) {
			t.Errorf("got %+v", got)
		}
	}
	if got := p.Lookup(t.Context(), "a.r.io/team/app", nil); got != nil {
		t.Errorf("a static pod got %v", got)
	}
	want := []string{`get me {"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"a.r.io/team/app","serviceAccountToken":"token-of-shop-web-for-r.io-cart","serviceAccountAnnotations":{"r.io/role":"puller"}}`}
	if d := cmp.Diff(want, calls()); d != "" {
		t.Error(d)
	}

	cfg.ServiceAccounts = api{}
	if p, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if got := p.Lookup(t.Context(), "a.r.io/team/app", pod); got != nil || len(calls()) != 1 {
		t.Errorf("without its annotation got %v", got)
	}
	if logs := tracetest.Events[trace.Log](rec); len(logs) != 0 {
		t.Errorf("logs %+v", logs)
	}
}

func TestBadAnswers(t *testing.T) {
	for name, tt := range map[string]struct{ answer, says string }{
		"it fails":          {"echo s3cret out of order >&2; exit 3", "exit status 3 (20 bytes on stderr)"},
		"not JSON":          {`echo '{"auth": "s3cret"'`, "its response on stdout is not the expected JSON"},
		"another version":   {strings.Replace(answer(`"cacheKeyType":"Image"`), "io/v1", "io/v1beta1", 1), "want a CredentialProviderResponse of credentialprovider.kubelet.k8s.io/v1, got v1beta1"},
		"an unknown field":  {answer(auth + `,"cacheKeyType":"Image","audience":"s3cret"`), "its response has a field that is not known"},
		"a field twice":     {answer(auth + `,"cacheKeyType":"Image","cacheKeyType":"Global"`), "or the same field twice"},
		"no cache key type": {answer(auth), `cacheKeyType "" in its response must be Image, Registry or Global`},
	} {
		cfg, _, rec := world(t, one, tt.answer)
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Lookup(t.Context(), "q.io:5000/x", nil); got != nil {
			t.Errorf("%s: got %v", name, got)
		}
		logs := tracetest.Events[trace.Log](rec)
		if len(logs) != 1 || !strings.Contains(logs[0].Message, tt.says) || strings.Contains(logs[0].Message, "s3cret") {
			t.Errorf("%s: logs %+v", name, logs)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for name, tt := range map[string]struct{ config, says string }{
		"unknown field":     {one + "  hosts: [a]\n", `unknown field "providers[0].hosts"`},
		"another case":      {strings.Replace(one, "args:", "Args:", 1), `unknown field "providers[0].Args"`},
		"another version":   {strings.Replace(one, "kubelet.config.k8s.io/v1", "kubelet.config.k8s.io/v2", 1), `of "kubelet.config.k8s.io/v2", want`},
		"a later field":     {strings.Replace(one, "config.k8s.io/v1", "config.k8s.io/v1beta1", 1) + "  tokenAttributes: {}\n", "(ecr).tokenAttributes: the file's apiVersion must be kubelet.config.k8s.io/v1"},
		"no host":           {strings.Replace(one, "q.io:5000", "q.io:x", 1), `matchImages: "q.io:x" must be a host`},
		"another kind":      {strings.Replace(one, "kind: Cred", "kind: Pred", 1), `is a "PredentialProviderConfig"`},
		"no providers":      {"apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n", "at least one is required"},
		"a path for a name": {strings.Replace(one, "name: ecr", "name: ../ecr", 1), `"../ecr" must be the name of a file`},
		"no version":        {strings.Replace(one, "k8s.io/v1\n  match", "k8s.io/v2\n  match", 1), "apiVersion"},
		"no images":         {strings.Replace(one, `["*.r.io/team", "q.io:5000"]`, "[]", 1), "matchImages: at least one"},
		"no duration":       {strings.Replace(one, "defaultCacheDuration: 1h", "", 1), "defaultCacheDuration: is required"},
		"twice":             {one + strings.Replace(one[strings.Index(one, "- name"):], "x", "x", 1), `"ecr" is there twice`},
		"no binary":         {strings.Replace(one, "name: ecr", "name: gcr", 1), "credential provider gcr:"},
		"half a token":      {one + "  tokenAttributes: {cacheType: None}\n", "tokenAttributes.requireServiceAccount: is required"},
	} {
		cfg, _, _ := world(t, tt.config, "")
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	cfg, _, _ := world(t, one, "")
	cfg.Path = cfg.BinDir // a directory
	if _, err := New(cfg); err != nil {
		t.Error(err)
	}
}
