package subpath

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A link may leave the volume and lead back, such as an absolute one in a hostPath volume. One that leads elsewhere is refused.
func TestLinksBackIntoTheVolume(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	vol, outside := filepath.Join(dir, "data"), filepath.Join(dir, "data2")
	must(t, os.MkdirAll(filepath.Join(vol, "releases/42/conf"), 0o755))
	must(t, os.MkdirAll(filepath.Join(outside, "conf"), 0o755))
	must(t, os.Symlink("data", filepath.Join(dir, "alias")))
	for link, target := range map[string]string{
		"current": vol + "/releases/42", "by-alias": dir + "/alias/releases/42", "relative": "../data/releases", "chain": "relative/42", "back-and-up": "relative/../current",
		"itself": vol, "out": outside, "near": "../data2", "parent": dir, "dangling": vol + "/none", "through": outside + "/../data/releases/42", "round": vol + "/round",
		"releases/up": "../../data/releases/42", "root": "/", "above": "..",
	} {
		must(t, os.Symlink(target, filepath.Join(vol, link)))
	}
	far := strings.Repeat("d/", 900)
	must(t, os.MkdirAll(filepath.Join(vol, far), 0o755))
	must(t, os.Symlink(filepath.Join(vol, far), filepath.Join(vol, "far")))
	must(t, os.Symlink(vol, filepath.Join(vol, far, "again")))
	alias := filepath.Join(dir, "alias")
	for _, c := range []struct{ volume, sub, at string }{
		{vol, "current", "releases/42"},
		{vol, "current/conf", "releases/42/conf"},
		{vol, "current/new/deep", "releases/42/new/deep"},
		{alias, "current/conf", "releases/42/conf"},
		{alias, "by-alias/conf", "releases/42/conf"},
		{vol, "relative/42", "releases/42"},
		{alias, "relative/42", "releases/42"},
		{vol, "chain", "releases/42"},
		{vol, "releases/up/conf", "releases/42/conf"},
		{vol, "itself/releases", "releases"},
		{vol, "itself/itself/current", "releases/42"},
		{vol, "far/again/current", "releases/42"},
		{vol, "far/again/far/again/current", ""}, // too long
		{vol, "by-alias/conf", ""},
		{vol, "through", ""},
		{vol, "back-and-up", ""}, // links outside would tell
		{vol, "out", ""},
		{vol, "out/conf", ""},
		{vol, "out/new", ""},
		{vol, "near/conf", ""},
		{vol, "parent/data2/conf", ""},
		{vol, "parent/data/releases", ""},
		{vol, "root", ""},
		{vol, "above", ""},
		{vol, "above/data2", ""},
		{vol, "dangling", ""},
		{vol, "dangling/x", ""},
		{vol, "itself/out/conf", ""},
		{vol, "round", ""},
		{vol, "itself/round/x", ""},
	} {
		base, mode, err := openVolume(c.volume)
		must(t, err)
		f, _, err := openOrMake(base, c.volume, c.sub, mode)
		must(t, base.Close())
		if err != nil || c.at == "" {
			if (err != nil) != (c.at == "") {
				t.Errorf("%s in %s: error %v, want it at %q", c.sub, c.volume, err, c.at)
			}
			continue
		}
		got, err := f.Stat()
		must(t, err)
		want, err := os.Stat(filepath.Join(vol, c.at))
		must(t, err)
		if !os.SameFile(got, want) {
			t.Errorf("%s in %s is not %s", c.sub, c.volume, c.at)
		}
		must(t, f.Close())
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("something was made outside: %v, %v", entries, err)
	}
	if _, err := os.Lstat(filepath.Join(vol, "none")); err == nil {
		t.Error("what a dangling link names was made")
	}
}
