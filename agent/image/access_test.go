package image

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func pullSecret(name string, typ v1.SecretType, key, data string) v1.Secret {
	return v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: "9f"}, Type: typ, Data: map[string][]byte{key: []byte(data)},
	}
}

// book is the records and events of one test.
type book struct {
	events.Publisher
	must   bool
	events []string
	said   []string
}

func (b *book) MustPull(_, _ string, creds func() ([]Credential, error)) (bool, error) {
	_, err := creds()
	return b.must, err
}

func (b *book) Begin(image string) error { b.events = append(b.events, "begin "+image); return nil }
func (b *book) Failed(image string)      { b.events = append(b.events, "failed "+image) }

func (b *book) Pulled(image, ref string, with *Credential) {
	who := "anyone"
	if with != nil && with.Secret != nil {
		who = with.Secret.Name + " " + with.Hash[:8]
	}
	b.events = append(b.events, fmt.Sprintf("pulled %s %s with %s", image, ref, who))
}

func (b *book) Pod(_ context.Context, pod *v1.Pod, container, eventType, reason, message string) {
	b.said = append(b.said, fmt.Sprintf("%s/%s %s %s: %s", pod.Name, container, eventType, reason, message))
}

type asked struct{ pods []string }

func (a *asked) Lookup(_ context.Context, _ string, pod *v1.Pod) []Credential {
	a.pods = append(a.pods, pod.Name)
	return []Credential{{Auth: &runtimeapi.AuthConfig{Password: "exec"}}}
}

func TestPullSecretsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		n.secrets[app] = "right"
		b, execs := &book{}, &asked{}
		rec := tracetest.New(t)
		p := newPuller(t, Config{
			Service: n, Bus: rec.Bus(), Records: b, Events: b, Providers: execs,
			Keyring: ring{"r.io/app": {{Password: "node"}}},
		})
		req := Request{
			PodUID: "u", Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cart"}}, Container: "web", Image: app,
			PullSecrets: []v1.Secret{
				pullSecret("opaque", v1.SecretTypeOpaque, v1.DockerConfigJsonKey, `{"auths":{"r.io":{"password":"never"}}}`),
				pullSecret("old", v1.SecretTypeDockercfg, v1.DockerConfigKey, `{"r.io":{"username":"u","password":"wrong"}}`),
				pullSecret("new", v1.SecretTypeDockerConfigJson, v1.DockerConfigJsonKey, `{"auths":{"r.io":{"auth":"dTpyaWdodA=="},"other.io":{"password":"x"}}}`),
			},
		}
		if _, err := p.Ensure(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if n.pulls != 2 {
			t.Errorf("%d attempts, want the two secrets", n.pulls)
		}
		if _, err := p.Ensure(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		b.must = true
		n.secrets[app] = "exec"
		if _, err := p.Ensure(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		n.secrets[app] = "nobody's"
		if _, err := p.Ensure(t.Context(), req); err == nil {
			t.Error("present and not for this pod, and it was given")
		}
		req.Policy = v1.PullNever
		_, err := p.Ensure(t.Context(), req)
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ErrImageNeverPull {
			t.Errorf("error %v", err)
		}
		want := []string{
			"begin r.io/app:v1", "pulled r.io/app:v1 sha256:1 with new 2ccf76ed", "begin r.io/app:v1",
			"pulled r.io/app:v1 sha256:1 with anyone", "begin r.io/app:v1", "failed r.io/app:v1",
		}
		if d := cmp.Diff(want, b.events); d != "" {
			t.Error(d)
		}
		if len(b.said) < 3 || b.said[2] != `cart/web Normal Pulled: Container image "r.io/app:v1" already present on machine and can be accessed by the pod` {
			t.Errorf("events %q", b.said)
		}
		if evs := tracetest.Events[trace.NodeEvent](rec); len(evs) != 0 {
			t.Errorf("events on the bus that belong to Events: %+v", evs)
		}
	})
}

// An image that was pulled is recorded, also if the runtime does not tell its status afterward: it is not one that others have loaded.
func TestPulledWithoutStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		n.secrets[app], n.blind = "right", errors.New("the runtime restarts")
		b := &book{}
		p := newPuller(t, Config{Service: n, Records: b})
		_, err := p.Ensure(t.Context(), Request{PodUID: "u", Image: app, Policy: v1.PullAlways, PullSecrets: []v1.Secret{
			pullSecret("new", v1.SecretTypeDockerConfigJson, v1.DockerConfigJsonKey, `{"auths":{"r.io":{"auth":"dTpyaWdodA=="}}}`),
		}})
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ImageInspectError {
			t.Errorf("error %v", err)
		}
		if d := cmp.Diff([]string{"begin r.io/app:v1", "pulled r.io/app:v1 sha256:1 with new 2ccf76ed"}, b.events); d != "" {
			t.Error(d)
		}
	})
}

func TestBrokenPullSecret(t *testing.T) {
	p := newPuller(t, Config{Service: newNode(app)})
	_, err := p.Ensure(t.Context(), Request{Image: app, PullSecrets: []v1.Secret{pullSecret("bad", v1.SecretTypeDockercfg, v1.DockerConfigKey, "s3cret")}})
	e, ok := errors.AsType[*Error](err)
	if want := ".dockercfg of secret shop/bad is not a docker config: not the JSON expected"; !ok || e.Reason != ErrImagePull || e.Message != want {
		t.Errorf("error %v", err)
	}
}

// TestHash: upstream's kubelet accepts its records only if the hashes are equal to its own.
func TestHash(t *testing.T) {
	// printf '{"username":"u","password":"p<","email":"e"}' with < as \u003c, through sha256sum
	if got := (Login{Username: "u", Password: "p<", Email: "e"}).hash(); got != "e25b18fd2e096f1d9c17fbc7a862be4517d46a84fd8005763bb598426338e0d2" {
		t.Errorf("hash %s", got)
	}
}
