package pulled

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/image"
)

const (
	app = "r.io/app:v1"
	id  = "sha256:1"
)

var _ image.Records = (*Store)(nil)

func secret(name, hash string) image.Credential {
	return image.Credential{Hash: hash, Secret: &image.Origin{UID: "u-" + name, Namespace: "shop", Name: name}}
}

func account(name string) image.Credential {
	return image.Credential{Hash: "token", ServiceAccount: &image.Origin{UID: "u-" + name, Namespace: "shop", Name: name}}
}

func open(t *testing.T, root, policy string, allow ...string) *Store {
	t.Helper()
	p, err := NewPolicy(policy, allow)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(root, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, s *Store, what, name string, want bool, offered ...image.Credential) {
	t.Helper()
	got, err := s.MustPull(name, id, func() ([]image.Credential, error) { return offered, nil })
	if err != nil || got != want {
		t.Errorf("%s: must pull %v, want %v (%v)", what, got, want, err)
	}
}

func pull(t *testing.T, s *Store, with *image.Credential) {
	t.Helper()
	if err := s.Begin(app); err != nil {
		t.Fatal(err)
	}
	s.Pulled(app, id, with)
}

func TestMustPull(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "")
	must(t, s, "preloaded", app, false)
	pull(t, s, new(secret("a", "h1")))
	s = open(t, root, "NeverVerifyPreloadedImages") // the same after a restart
	must(t, s, "without a secret", app, true)
	must(t, s, "by another name", "mirror.io/app:v1", true, secret("a", "h1"))
	must(t, s, "another tag", "r.io/app:v2", false, secret("a", "h1"))
	must(t, s, "the same secret", app, false, secret("a", "h1"))
	must(t, s, "another one, another login", app, true, secret("b", "h2"))
	must(t, s, "another one, the same login", app, false, secret("b", "h1"))
	must(t, s, "which is noted", app, false, secret("b", "h3"))
	must(t, s, "and so is its login", app, false, secret("c", "h3"))
	must(t, s, "a service account", app, true, account("default"))
	pull(t, s, new(account("default")))
	must(t, s, "that pulled", app, false, account("default"))
	must(t, s, "the second of two", app, true, account("other"), account("default"))
	pull(t, s, nil)
	must(t, s, "public after all", app, false)
	c, err := s.Counts()
	if err != nil || c.Intents != 0 || c.Records != 1 || c.Checks[CheckedRecord] != 7 || c.Checks[CheckedPull] != 5 || len(c.Checks) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := s.Begin(app); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Counts(); c.Intents != 1 {
		t.Errorf("%+v", c)
	}
}

// A record with a field that is not known, or with one twice, does not count, as in upstream's kubelet.
func TestStrict(t *testing.T) {
	const record = `{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","imageRef":"sha256:1",%s"credentialMapping":{"r.io/app":{"nodePodsAccessible":true}}}`
	for field, want := range map[string]bool{"": false, `"expires":"2026-01-01T00:00:00Z",`: true, `"imageRef":"sha256:1",`: true} {
		root := t.TempDir()
		s := open(t, root, "")
		if err := os.WriteFile(filepath.Join(root, "image_manager/pulled", filename(id)), fmt.Appendf(nil, record, field), 0o600); err != nil {
			t.Fatal(err)
		}
		must(t, s, field, app, want)
	}
}

func TestPolicies(t *testing.T) {
	for name, tt := range map[string]struct {
		allow             []string
		preloaded, pulled bool
	}{
		"NeverVerify":                  {},
		"NeverVerifyPreloadedImages":   {pulled: true},
		"NeverVerifyAllowlistedImages": {preloaded: true, pulled: true, allow: []string{"r.io/ap", "q.io/*"}},
		"AlwaysVerify":                 {preloaded: true, pulled: true},
	} {
		s := open(t, t.TempDir(), name, tt.allow...)
		must(t, s, name+", preloaded", app, tt.preloaded)
		pull(t, s, new(secret("a", "h")))
		must(t, s, name+", pulled", app, tt.pulled)
	}
	s := open(t, t.TempDir(), "NeverVerifyAllowlistedImages", "r.io/app", "q.io/*")
	must(t, s, "allowed", app+"@sha256:"+strings.Repeat("a", 64), false)
	must(t, s, "allowed by prefix", "q.io/x/y:1", false)
	if _, err := NewPolicy("Sometimes", nil); err == nil {
		t.Error("no error for an unknown policy")
	}
}

// TestLayout: names and contents are equal to those of upstream's kubelet v1.37.1.
func TestLayout(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "")
	if err := s.Begin(app); err != nil {
		t.Fatal(err)
	}
	pulling := filepath.Join(root, "image_manager/pulling", filename(app))
	raw, err := os.ReadFile(pulling)
	if want := `{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"r.io/app:v1"}` + "\n"; err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
	if got := filename("docker.io/testing/test:latest"); got != "sha256-aef2af226629a35d5f3ef0fdbb29fdbebf038d0acd8850590e8c48e1e283aa56" {
		t.Errorf("file name %s", got)
	}
	s.Pulled(app, id, new(secret("a", "h1")))
	if _, err := os.Stat(pulling); !os.IsNotExist(err) {
		t.Errorf("the note is still there: %v", err)
	}
	raw, err = os.ReadFile(filepath.Join(root, "image_manager/pulled", filename(id)))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "lastUpdatedTime")
	want := map[string]any{
		"kind": "ImagePulledRecord", "apiVersion": "kubelet.config.k8s.io/v1beta1", "imageRef": id,
		"credentialMapping": map[string]any{"r.io/app": map[string]any{"kubernetesSecrets": []any{
			map[string]any{"uid": "u-a", "namespace": "shop", "name": "a", "credentialHash": "h1"},
		}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

type present []*runtimeapi.Image

func (p present) ListImages(context.Context, *runtimeapi.ListImagesRequest, ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{Images: p}, nil
}

// An image that is pulled while images are listed keeps its record, also if it is pulled in the second in which the list began.
func TestPulledDuringList(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, root, "")
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the bubble's
		began := time.Now()
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the bubble's
		pull(t, s, new(secret("a", "h1")))
		s.Prune(nil, began)
		must(t, s, "another pod", app, true)
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's
		s.Prune(nil, time.Now())
		must(t, s, "the image is gone", app, false)
	})
}

func TestSettleAndPrune(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "")
	for range 2 {
		if err := s.Begin(app); err != nil {
			t.Fatal(err)
		}
	}
	s.Failed(app)
	s = open(t, root, "") // the agent was killed meanwhile
	must(t, s, "perhaps pulled", app, true)
	if err := s.Settle(t.Context(), present{{Id: "sha256:2"}, {Id: id, RepoTags: []string{app}}}); err != nil {
		t.Fatal(err)
	}
	must(t, s, "pulled by nobody knows whom", app, true)
	if left, err := list(s.pulling); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	now := time.Now().Add(time.Second)
	s.Prune([]string{id}, now)
	s.Prune(nil, now.Add(-time.Hour))
	if left, err := list(s.pulled); err != nil || len(left) != 1 {
		t.Errorf("%d records, %v", len(left), err)
	}
	for i := range 1000 { // images that others loaded
		if _, err := s.MustPull(app, fmt.Sprint("sha256:other-", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	s.Prune(nil, now)
	if n := len(s.records); n > 0 {
		t.Errorf("%d images are remembered, none is there", n)
	}
	must(t, s, "its record is gone", app, false)
	if err := os.WriteFile(filepath.Join(s.pulled, filename(id)), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, open(t, root, ""), "what cannot be read", app, true, secret("a", "h"))
}
