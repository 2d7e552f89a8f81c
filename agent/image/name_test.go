package image

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestParseName(t *testing.T) {
	const sum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	tests := map[string]struct {
		want   Name
		policy v1.PullPolicy
	}{
		"busybox":                 {Name{"busybox:latest", "docker.io/library/busybox", "latest", ""}, v1.PullAlways},
		"busybox:1.37":            {Name{"busybox:1.37", "docker.io/library/busybox", "1.37", ""}, v1.PullIfNotPresent},
		"me/app":                  {Name{"me/app:latest", "docker.io/me/app", "latest", ""}, v1.PullAlways},
		"localhost:5000/a/b":      {Name{"localhost:5000/a/b:latest", "localhost:5000/a/b", "latest", ""}, v1.PullAlways},
		"localhost:5000/a/b:v1":   {Name{"localhost:5000/a/b:v1", "localhost:5000/a/b", "v1", ""}, v1.PullIfNotPresent},
		"r.io/a@" + sum:           {Name{"r.io/a@" + sum, "r.io/a", "", sum}, v1.PullIfNotPresent},
		"r.io/a:v2@" + sum:        {Name{"r.io/a:v2@" + sum, "r.io/a", "v2", sum}, v1.PullIfNotPresent},
		"registry.k8s.io/pause:3": {Name{"registry.k8s.io/pause:3", "registry.k8s.io/pause", "3", ""}, v1.PullIfNotPresent},
	}
	for in, tt := range tests {
		t.Run(in, func(t *testing.T) {
			got, err := ParseName(in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if p := got.DefaultPolicy(); p != tt.policy {
				t.Errorf("default policy %s, want %s", p, tt.policy)
			}
		})
	}
	for _, bad := range []string{"", "Busybox", "a b", ":latest", "x@sha256:short", "http://r.io/a"} {
		if n, err := ParseName(bad); err == nil {
			t.Errorf("ParseName(%q) = %+v, want an error", bad, n)
		}
	}
}
