package files

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
)

func TestObjectsMakeFiles(t *testing.T) {
	file := func(data string, mode fs.FileMode) atomicdir.File {
		return atomicdir.File{Data: []byte(data), Mode: mode}
	}
	down := errors.New("the API server is away")
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, "conf")
	for _, c := range []struct {
		name    string
		data    map[string]string
		err     error
		keys    Keys
		want    Set
		wantErr string // of a ConfigMap
	}{
		{"all keys", map[string]string{"a": "1", "b": "2"}, nil, Keys{}, Set{"a": file("1", 0o644), "b": file("2", 0o644)}, ""},
		{"a mode", map[string]string{"a": "1"}, nil, Keys{Mode: new(int32(0o400))}, Set{"a": file("1", 0o400)}, ""},
		{"bits that are no permissions", map[string]string{"a": "1"}, nil, Keys{Mode: new(int32(0o4755))}, Set{"a": file("1", 0o755)}, ""},
		{
			"items",
			map[string]string{"a": "1", "b": "2"},
			nil,
			Keys{Items: []v1.KeyToPath{{Key: "a", Path: "x/y"}, {Key: "a", Path: "z", Mode: new(int32(0o600))}}, Mode: new(int32(0o440))},
			Set{"x/y": file("1", 0o440), "z": file("1", 0o600)},
			"",
		},
		{
			"an item that is missing",
			map[string]string{"a": "1"},
			nil,
			Keys{Items: []v1.KeyToPath{{Key: "c", Path: "c"}}},
			nil,
			"configmap references non-existent config key: c",
		},
		{
			"an item that may be missing",
			map[string]string{"a": "1"},
			nil,
			Keys{Items: []v1.KeyToPath{{Key: "c", Path: "c"}, {Key: "a", Path: "a"}}, Optional: new(true)},
			Set{"a": file("1", 0o644)},
			"",
		},
		{"no object", nil, notFound, Keys{}, nil, notFound.Error()},
		{"no object, and it is said to be needed", nil, notFound, Keys{Optional: new(false)}, nil, notFound.Error()},
		{"no object that may be missing", nil, notFound, Keys{Optional: new(true)}, Set{}, ""},
		{"nobody knows whether there is one that may be missing", nil, down, Keys{Optional: new(true)}, nil, down.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.keys.Object = "conf"
			asked := func(namespace, name string) {
				if namespace != "shop" || name != "conf" {
					t.Errorf("got a request for %s/%s, want shop/conf", namespace, name)
				}
			}
			got, err := OfConfigMap(t.Context(), func(_ context.Context, namespace, name string) (*v1.ConfigMap, error) {
				asked(namespace, name)
				return &v1.ConfigMap{Data: c.data}, c.err
			}, "shop", c.keys)
			if text := textOf(err); text != c.wantErr {
				t.Errorf("ConfigMap: got error %q, want %q", text, c.wantErr)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("files of the ConfigMap (-want +got):\n%s", diff)
			}
			got, err = OfSecret(t.Context(), func(_ context.Context, namespace, name string) (*v1.Secret, error) {
				asked(namespace, name)
				return &v1.Secret{Data: bytesOf(c.data)}, c.err
			}, "shop", c.keys)
			if (err != nil) != (c.wantErr != "") {
				t.Errorf("Secret: got error %v, want one: %t", err, c.wantErr != "")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("files of the Secret (-want +got):\n%s", diff)
			}
		})
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func bytesOf(texts map[string]string) map[string][]byte {
	out := map[string][]byte{}
	for k, v := range texts {
		out[k] = []byte(v)
	}
	return out
}

func TestConfigMapHasBinaryData(t *testing.T) {
	got, err := OfConfigMap(t.Context(), func(context.Context, string, string) (*v1.ConfigMap, error) {
		return &v1.ConfigMap{Data: map[string]string{"both": "text"}, BinaryData: map[string][]byte{"both": {1}, "binary": {0xff}}}, nil
	}, "shop", Keys{Object: "conf"})
	if err != nil {
		t.Fatal(err)
	}
	want := Set{"both": {Data: []byte("text"), Mode: 0o644}, "binary": {Data: []byte{0xff}, Mode: 0o644}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestDigest: different sets have different digests, even if one file ends as another begins.
func TestDigest(t *testing.T) {
	seen := map[string]string{}
	for name, set := range map[string]Set{
		"nothing":       {},
		"an empty file": {"a": {Mode: 0o644}},
		"a file":        {"a": {Data: []byte("1"), Mode: 0o644}},
		"another mode":  {"a": {Data: []byte("1"), Mode: 0o600}},
		"another data":  {"a": {Data: []byte("2"), Mode: 0o644}},
		"another path":  {"b": {Data: []byte("1"), Mode: 0o644}},
		"two files":     {"a": {Data: []byte("1"), Mode: 0o644}, "b": {Mode: 0o644}},
		"the text of 2": {"a": {Data: []byte("1\"b\" 644 0\n"), Mode: 0o644}},
	} {
		d := set.Digest()
		if other, same := seen[d]; same {
			t.Errorf("%s and %s have the digest %s", name, other, d)
		}
		seen[d] = name
		if again := set.Digest(); again != d {
			t.Errorf("%s: got %s, then %s", name, d, again)
		}
	}
}

func TestNested(t *testing.T) {
	mounts := func(namesAndPaths ...string) (out []v1.VolumeMount) {
		for i := 0; i < len(namesAndPaths); i += 2 {
			out = append(out, v1.VolumeMount{Name: namesAndPaths[i], MountPath: namesAndPaths[i+1]})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		mounts []v1.VolumeMount
		want   []string
	}{
		{"alone", mounts("conf", "/etc/conf"), nil},
		{"beside", mounts("conf", "/etc/conf", "data", "/etc/config"), nil},
		{"above", mounts("conf", "/etc/conf", "data", "/etc"), nil},
		{"within", mounts("conf", "/etc/conf", "data", "/etc/conf/data"), []string{"data"}},
		{"deep within", mounts("conf", "/etc/conf", "data", "/etc/conf/a/b/"), []string{"a/b"}},
		{"within another within", mounts("conf", "/c", "a", "/c/a", "b", "/c/a/b"), []string{"a"}},
		{"paths that are not clean", mounts("conf", "/c/", "a", "/c//x/../a"), []string{"a"}},
		{"mounted twice", mounts("conf", "/c", "conf", "/d", "a", "/c/a", "b", "/d/b"), []string{"a", "b"}},
		{"of another volume", mounts("other", "/c", "a", "/c/a"), nil},
	} {
		for where, pod := range map[string]*v1.Pod{
			"container":      {Spec: v1.PodSpec{Containers: []v1.Container{{VolumeMounts: c.mounts}}}},
			"init container": {Spec: v1.PodSpec{InitContainers: []v1.Container{{VolumeMounts: c.mounts}}}},
		} {
			if diff := cmp.Diff(c.want, nested(pod, "conf")); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.name, where, diff)
			}
		}
	}
}

func TestUser(t *testing.T) {
	as := func(users ...int64) (out []v1.Container) { // -1: not set
		for _, u := range users {
			c := v1.Container{SecurityContext: &v1.SecurityContext{}}
			if u >= 0 {
				c.SecurityContext.RunAsUser = &u
			}
			out = append(out, c)
		}
		return out
	}
	pod := func(u int64) *v1.PodSecurityContext { return &v1.PodSecurityContext{RunAsUser: &u} }
	debugger := v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{SecurityContext: &v1.SecurityContext{RunAsUser: new(int64(0))}}}
	for _, c := range []struct {
		name string
		spec v1.PodSpec
		want *int64
	}{
		{"nobody says", v1.PodSpec{Containers: as(-1)}, nil},
		{"no security context", v1.PodSpec{Containers: []v1.Container{{}}}, nil},
		{"the container", v1.PodSpec{Containers: as(7)}, new(int64(7))},
		{"the pod", v1.PodSpec{Containers: as(-1, -1), SecurityContext: pod(7)}, new(int64(7))},
		{"all the same", v1.PodSpec{InitContainers: as(7), Containers: as(7, 7)}, new(int64(7))},
		{"the container before the pod", v1.PodSpec{Containers: as(8), SecurityContext: pod(7)}, new(int64(8))},
		{"they differ", v1.PodSpec{Containers: as(7, 8)}, nil},
		{"one differs from the pod", v1.PodSpec{Containers: as(-1, 8), SecurityContext: pod(7)}, nil},
		{"one does not say", v1.PodSpec{Containers: as(7, -1)}, nil},
		{"an init container differs", v1.PodSpec{InitContainers: as(0), Containers: as(7)}, nil},
		{"an ephemeral container differs", v1.PodSpec{Containers: as(7), EphemeralContainers: []v1.EphemeralContainer{debugger}}, nil},
		{"root", v1.PodSpec{Containers: as(0)}, new(int64(0))},
	} {
		if diff := cmp.Diff(c.want, User(&v1.Pod{Spec: c.spec})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A spec names owners with the feature gate only; an item's comes before that of the volume.
func TestOwners(t *testing.T) {
	keys := Keys{Object: "conf", Items: []v1.KeyToPath{{Key: "a", Path: "a"}, {Key: "a", Path: "b", User: new(int64(7))}, {Key: "a", Path: "root", User: new(int64(0))}}}
	for _, c := range []struct {
		name  string
		on    Users
		user  *int64
		items []v1.KeyToPath
		want  map[string]*int64
	}{
		{"no gate", false, new(int64(5)), keys.Items, map[string]*int64{"a": nil, "b": nil, "root": nil}},
		{"no default", true, nil, keys.Items, map[string]*int64{"a": nil, "b": new(int64(7)), "root": new(int64(0))}},
		{"default", true, new(int64(5)), keys.Items, map[string]*int64{"a": new(int64(5)), "b": new(int64(7)), "root": new(int64(0))}},
		{"all keys", true, new(int64(5)), nil, map[string]*int64{"a": new(int64(5))}},
	} {
		k := keys
		k.Users, k.User, k.Items = c.on, c.user, c.items
		set, err := OfSecret(t.Context(), func(context.Context, string, string) (*v1.Secret, error) {
			return &v1.Secret{Data: map[string][]byte{"a": nil}}, nil
		}, "shop", k)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]*int64{}
		for name, f := range set {
			got[name] = f.User
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
