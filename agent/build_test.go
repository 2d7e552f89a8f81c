package agent

import (
	"runtime"
	"testing"
)

func TestBuildLabels(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		build   Build
		want    map[string]string
	}{
		"a release": {"0.3.0", Build{Commit: "4660bb65", Tree: "clean", Date: "2026-11-28T12:00:00Z"}, map[string]string{
			"git_version": "v1.37.1+kubeloupe.0.3.0", "major": "1", "minor": "37", "git_commit": "4660bb65", "git_tree_state": "clean", "build_date": "2026-11-28T12:00:00Z",
		}},
		"unknown": {"", Build{}, map[string]string{
			"git_version": "v1.37.1+kubeloupe", "major": "1", "minor": "37", "git_commit": "", "git_tree_state": "", "build_date": "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want["compiler"], c.want["go_version"], c.want["platform"] = runtime.Compiler, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			labels := buildLabels(c.version, c.build)
			if len(labels) != 2*len(c.want) {
				t.Errorf("%d labels, want %d", len(labels)/2, len(c.want))
			}
			for i := 0; i+1 < len(labels); i += 2 {
				if v, ok := c.want[labels[i]]; !ok || v != labels[i+1] {
					t.Errorf("%s is %q, want %q", labels[i], labels[i+1], v)
				}
			}
		})
	}
}
