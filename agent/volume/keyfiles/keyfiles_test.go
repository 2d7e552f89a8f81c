package keyfiles_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/keyfiles"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

// objects has one ConfigMap and one Secret, both named shop/conf.
type objects struct{ refresh time.Duration }

func (objects) ConfigMap(_ context.Context, namespace, name string) (*v1.ConfigMap, error) {
	if namespace != "shop" || name != "conf" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmap"}, name)
	}
	return &v1.ConfigMap{Data: map[string]string{"a": "text", "both": "text"}, BinaryData: map[string][]byte{"b": {1}, "both": {1}}}, nil
}

func (objects) Secret(_ context.Context, namespace, name string) (*v1.Secret, error) {
	if namespace != "shop" || name != "conf" {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secret"}, name, nil)
	}
	return &v1.Secret{Data: map[string][]byte{"a": []byte("hidden")}}, nil
}

func (o objects) RefreshAfter() time.Duration { return o.refresh }

func TestFiles(t *testing.T) {
	maps := func(name string, optional *bool, items ...v1.KeyToPath) v1.VolumeSource {
		return v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}, Items: items, DefaultMode: new(int32(0o640)), Optional: optional}}
	}
	secrets := func(name string, optional *bool, items ...v1.KeyToPath) v1.VolumeSource {
		return v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: name, Items: items, Optional: optional}}
	}
	for _, tc := range []struct {
		name string
		src  v1.VolumeSource
		want map[string]string // mode and data by path
		err  string            // contained
	}{
		{"all keys, text before bytes", maps("conf", nil), map[string]string{"a": "-rw-r----- text", "b": "-rw-r----- \x01", "both": "-rw-r----- text"}, ""},
		{"items", maps("conf", nil, v1.KeyToPath{Key: "a", Path: "deep/x", Mode: new(int32(0o400))}), map[string]string{"deep/x": "-r-------- text"}, ""},
		{"a key that is missing", maps("conf", nil, v1.KeyToPath{Key: "z", Path: "x"}), nil, "configmap references non-existent config key: z"},
		{"a key that may be missing", maps("conf", new(true), v1.KeyToPath{Key: "z", Path: "x"}, v1.KeyToPath{Key: "a", Path: "y"}), map[string]string{"y": "-rw-r----- text"}, ""},
		{"an object that is missing", maps("none", new(false)), nil, `configmap "none" not found`},
		{"an object that may be missing", maps("none", new(true)), map[string]string{}, ""},
		{"a secret", secrets("conf", nil), map[string]string{"a": "-rw-r--r-- hidden"}, ""},
		{"a secret's key that is missing", secrets("conf", nil, v1.KeyToPath{Key: "z", Path: "x"}), nil, "references non-existent secret key: z"},
		{"optional is not for what is forbidden", secrets("none", new(true)), nil, "forbidden"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &v1.Volume{Name: "vol", VolumeSource: tc.src}
			s := volume.Spec{
				Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, Volume: v,
				Place: volume.Place{Dir: filepath.Join(t.TempDir(), "vol"), Name: "vol"},
			}
			var p *keyfiles.Plugin
			for _, kind := range []keyfiles.Kind{keyfiles.ConfigMap, keyfiles.Secret} {
				one, err := keyfiles.New(keyfiles.Config{Kind: kind, Memory: memdir.Plain(), Objects: objects{}})
				if err != nil {
					t.Fatal(err)
				}
				if one.Name() != string(kind) {
					t.Errorf("the plugin for %s is named %s", kind, one.Name())
				}
				if one.CanSupport(v) {
					if p != nil {
						t.Fatal("both kinds support the volume")
					}
					p = one
				}
			}
			_, err := p.SetUp(t.Context(), s)
			if err == nil != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, held(t, s.Dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if err := p.TearDown(t.Context(), s.Place); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(s.Dir); err == nil {
				t.Error("the directory is still there after TearDown")
			}
		})
	}
}

// held returns mode and data by path, nil if the volume was not set up.
func held(t *testing.T, dir string) map[string]string {
	t.Helper()
	data, err := filepath.EvalSymlinks(filepath.Join(dir, "..data"))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	err = filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, data+"/")] = info.Mode().String() + " " + string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefreshAt(t *testing.T) {
	for _, after := range []time.Duration{0, time.Minute} {
		p, err := keyfiles.New(keyfiles.Config{Kind: keyfiles.Secret, Memory: memdir.Plain(), Objects: objects{refresh: after}})
		if err != nil {
			t.Fatal(err)
		}
		if at := p.RefreshAt(volume.Spec{}); at.IsZero() != (after == 0) || after > 0 && time.Until(at) > after {
			t.Errorf("with %v the volume is refreshed at %v", after, at)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]keyfiles.Config{
		`Config.Kind is "", want "kubernetes.io/configmap" or "kubernetes.io/secret"`: {Memory: memdir.Plain(), Objects: objects{}},
		"Config.Memory or Config.Objects is missing":                                  {Kind: keyfiles.ConfigMap, Memory: memdir.Plain()},
	} {
		if _, err := keyfiles.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
