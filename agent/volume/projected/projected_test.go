package projected_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/downwardapi"
	"github.com/kubeloupe/kubeloupe/agent/volume/files"
	"github.com/kubeloupe/kubeloupe/agent/volume/keyfiles"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/projected"
)

// api has a ConfigMap conf and a Secret pass, and numbers its tokens.
type api struct {
	value   string
	tokens  int
	forgot  types.UID
	refresh time.Time
}

func (a *api) ConfigMap(_ context.Context, namespace, name string) (*v1.ConfigMap, error) {
	if namespace != "ns" || name != "conf" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmap"}, name)
	}
	return &v1.ConfigMap{Data: map[string]string{"text": a.value}, BinaryData: map[string][]byte{"binary": {0, 1}}}, nil
}

func (a *api) Secret(_ context.Context, namespace, name string) (*v1.Secret, error) {
	if namespace != "ns" || name != "pass" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secret"}, name)
	}
	return &v1.Secret{Data: map[string][]byte{"word": []byte("secret"), "other": []byte("x")}}, nil
}

func (a *api) TrustAnchors(context.Context, *v1.ClusterTrustBundleProjection) ([]byte, error) {
	return []byte("anchors"), nil
}

func (a *api) RefreshAfter() time.Duration { return 0 }

func (a *api) Token(_ context.Context, namespace, account string, want *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	if namespace != "ns" || account != "sa" || want.Spec.BoundObjectRef.UID != "u" || want.Spec.Audiences[0] != "vault" || *want.Spec.ExpirationSeconds != 600 {
		return nil, errors.New("another token was wanted")
	}
	a.tokens++
	return &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: fmt.Sprint("token ", a.tokens)}}, nil
}

func (a *api) RefreshAt(string, string, *authenticationv1.TokenRequest) time.Time { return a.refresh }
func (a *api) Forget(uid types.UID)                                               { a.forgot = uid }

func (a *api) Certificate(_ context.Context, _ *v1.Pod, volume string, source int) (key, chain []byte, err error) {
	return []byte("key"), fmt.Appendf(nil, " chain of %s %d", volume, source), nil
}

func plugins(t *testing.T, a *api) (p *projected.Plugin, maps, secrets *keyfiles.Plugin) {
	t.Helper()
	memory := memdir.Plain()
	p, err := projected.New(projected.Config{Fields: downwardapi.Config{Memory: memory}, Objects: a, Tokens: a, Certificates: a})
	must(t, err)
	maps, err = keyfiles.New(keyfiles.Config{Kind: keyfiles.ConfigMap, Memory: memory, Objects: a})
	must(t, err)
	secrets, err = keyfiles.New(keyfiles.Config{Kind: keyfiles.Secret, Memory: memory, Objects: a})
	must(t, err)
	return p, maps, secrets
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func spec(t *testing.T, src v1.VolumeSource) volume.Spec {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}}
	pod.Spec.ServiceAccountName = "sa"
	pod.Spec.Containers = []v1.Container{{Name: "c"}}
	return volume.Spec{
		Pod: pod, Volume: &v1.Volume{Name: "vol", VolumeSource: src},
		Place: volume.Place{Dir: filepath.Join(t.TempDir(), "vol"), PodUID: "u", Name: "vol"},
	}
}

// tree returns what a container sees: mode, owner and data by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	data, err := filepath.EvalSymlinks(filepath.Join(dir, "..data"))
	must(t, err)
	must(t, filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		owner := info.Sys().(*syscall.Stat_t)
		out[strings.TrimPrefix(path, data+"/")] = fmt.Sprintf("%o %d:%d %s", info.Mode().Perm(), owner.Uid, owner.Gid, content)
		return err
	}))
	return out
}

func all() v1.VolumeSource {
	named := func(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }
	return v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{DefaultMode: new(int32(0o644)), Sources: []v1.VolumeProjection{
		{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named("conf")}},
		{Secret: &v1.SecretProjection{LocalObjectReference: named("pass"), Items: []v1.KeyToPath{{Key: "word", Path: "deep/word", Mode: new(int32(0o400))}}}},
		{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named("none"), Optional: new(true)}},
		{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
		{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", Audience: "vault", ExpirationSeconds: new(int64(600))}},
		{ClusterTrustBundle: &v1.ClusterTrustBundleProjection{Path: "trust"}},
		{PodCertificate: &v1.PodCertificateProjection{CredentialBundlePath: "bundle", KeyPath: "key"}},
		{Secret: &v1.SecretProjection{LocalObjectReference: named("pass"), Items: []v1.KeyToPath{{Key: "other", Path: "name"}}}},
	}}}
}

func TestAllSources(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files away needs root")
	}
	user := func(u *int64) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: u} }
	}
	for name, tc := range map[string]struct {
		change               func(*v1.Pod)
		plain, word, private string // mode and owner
	}{
		"any user": {user(nil), "644 0:0", "400 0:0", "644 0:0"},
		"one user": {user(new(int64(1234))), "644 0:0", "400 0:0", "600 1234:0"},
		"fsGroup":  {func(p *v1.Pod) { p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4321))} }, "644 0:4321", "440 0:4321", "640 0:4321"},
		"other users": {func(p *v1.Pod) {
			user(new(int64(1)))(p)
			p.Spec.InitContainers = []v1.Container{{SecurityContext: &v1.SecurityContext{RunAsUser: new(int64(2))}}}
		}, "644 0:0", "400 0:0", "644 0:0"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{value: "one"}
			p, _, _ := plugins(t, a)
			s := spec(t, all())
			tc.change(s.Pod)
			if !p.CanSupport(s.Volume) {
				t.Fatal("not supported")
			}
			got, err := p.SetUp(t.Context(), s)
			must(t, err)
			if got.HostPath != s.Dir || !got.ReadOnly {
				t.Errorf("%+v", got)
			}
			want := map[string]string{
				"text": tc.plain + " one", "binary": tc.plain + " \x00\x01", "name": tc.plain + " x", "deep/word": tc.word + " secret",
				"token": tc.private + " token 1", "trust": tc.private + " anchors", "bundle": tc.private + " key chain of vol 6", "key": tc.private + " key",
			}
			if diff := cmp.Diff(want, tree(t, s.Dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			a.value = "two"
			_, err = p.SetUp(t.Context(), s)
			must(t, err)
			want["text"], want["token"] = tc.plain+" two", tc.private+" token 2"
			if diff := cmp.Diff(want, tree(t, s.Dir)); diff != "" {
				t.Errorf("after an update (-want +got):\n%s", diff)
			}
			a.refresh = time.Now()
			if !p.RefreshAt(s).Equal(a.refresh) {
				t.Error("the token is not refreshed")
			}
			must(t, p.TearDown(t.Context(), s.Place))
			if _, err := os.Stat(s.Dir); err == nil || a.forgot != "u" {
				t.Errorf("left behind: %v, %q", err, a.forgot)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	p, c, sec := plugins(t, &api{})
	named := v1.LocalObjectReference{Name: "none"}
	for _, tc := range []struct {
		plugin volume.Plugin
		src    v1.VolumeSource
		want   string
	}{
		{c, v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: named}}, `configmap "none" not found`},
		{c, v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: named, Optional: new(true)}}, ""},
		{c, v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}, Items: []v1.KeyToPath{{Key: "nope", Path: "x"}}}}, "configmap references non-existent config key: nope"},
		{sec, v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "none"}}, `secret "none" not found`},
		{sec, v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "pass", Items: []v1.KeyToPath{{Key: "nope", Path: "x"}}}}, "references non-existent secret key: nope"},
		{sec, v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "pass", Optional: new(true), Items: []v1.KeyToPath{{Key: "nope", Path: "x"}}}}, ""},
		{p, v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named}}, {Secret: &v1.SecretProjection{LocalObjectReference: named}},
		}}}, `[configmap "none" not found, secret "none" not found]`},
	} {
		s := spec(t, tc.src)
		_, err := tc.plugin.SetUp(t.Context(), s)
		if tc.want == "" && (err != nil || len(tree(t, s.Dir)) != 0) || tc.want != "" && (err == nil || err.Error() != tc.want) {
			t.Errorf("%v: error %v, want %q", tc.src, err, tc.want)
		}
		if _, err := os.Stat(s.Dir); (tc.want == "") != (err == nil) {
			t.Errorf("%v: the directory: %v", tc.src, err)
		}
	}
}

func TestStandalone(t *testing.T) {
	p, err := projected.New(projected.Config{Fields: downwardapi.Config{Memory: memdir.Plain()}})
	must(t, err)
	v := all()
	if p.CanSupport(&v1.Volume{VolumeSource: v}) {
		t.Error("supports what needs an API server")
	}
	v.Projected.Sources = v.Projected.Sources[3:4]
	if !p.CanSupport(&v1.Volume{VolumeSource: v}) {
		t.Error("does not support the pod's own fields")
	}
}

// With the feature gate AtomicWriteVolumeUserFields, the spec names owners: an item's, a source's, the volume's, and then the pod's user.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files away needs root")
	}
	for _, c := range []struct {
		on     bool
		owners string // of the configMap's, the secret's item's, the downwardAPI's, the token's, the trust bundle's and the certificate's file
	}{
		{true, "5 7 5 8 5 9"},
		{false, "0 0 0 4 4 4"},
	} {
		a := &api{value: "text"}
		memory := memdir.Plain()
		p, err := projected.New(projected.Config{Fields: downwardapi.Config{Memory: memory, Users: files.Users(c.on)}, Objects: a, Tokens: a, Certificates: a})
		must(t, err)
		src := all()
		src.Projected.DefaultUser = new(int64(5))
		sources := src.Projected.Sources[:7]
		src.Projected.Sources = sources
		sources[1].Secret.Items[0].User = new(int64(7))
		sources[4].ServiceAccountToken.User = new(int64(8))
		sources[6].PodCertificate.User = new(int64(9))
		s := spec(t, src)
		s.Pod.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: new(int64(4))}
		_, err = p.SetUp(t.Context(), s)
		must(t, err)
		got, seen := tree(t, s.Dir), []string{}
		for _, name := range []string{"text", "deep/word", "name", "token", "trust", "key"} {
			fields := strings.Fields(got[name]) // mode, owner, ...
			user, _, _ := strings.Cut(fields[1], ":")
			seen = append(seen, user)
			if private := name == "token" || name == "trust" || name == "key"; private != (fields[0] == "600") {
				t.Errorf("%s: %s", name, got[name])
			}
		}
		if owners := strings.Join(seen, " "); owners != c.owners {
			t.Errorf("gate %t: owners %s, want %s", c.on, owners, c.owners)
		}
		must(t, p.TearDown(t.Context(), s.Place))
	}
}
