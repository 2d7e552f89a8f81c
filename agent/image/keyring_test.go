package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func TestMatch(t *testing.T) {
	entries := map[string]Login{
		"https://index.docker.io/v1/":     {Username: "hub"},
		"registry.example.com":            {Username: "host"},
		"registry.example.com/team":       {Username: "team"},
		"http://registry.example.com:443": {Username: "port"},
		"*.example.org":                   {Username: "glob"},
		"https://quay.io/v2/":             {Username: "quay"},
		"[":                               {Username: "bad pattern"},
		"[::1]:5000":                      {Username: "six"},
	}
	tests := map[string][]string{
		"docker.io/library/busybox":      {"hub"},
		"registry.example.com/team/app":  {"team", "host"},
		"registry.example.com/other":     {"host"},
		"registry.example.com:443/team":  {"port"},
		"registry.example.com:5000/team": nil,
		"a.example.org/x":                {"glob"},
		"a.b.example.org/x":              nil,
		"example.org/x":                  nil,
		"quay.io/x/y":                    {"quay"},
		"localhost:5000/x":               nil,
		"[::1]:5000/x":                   {"six"},
	}
	for repository, want := range tests {
		var got []string
		logins := Logins{}
		logins.Add(entries, Credential{})
		for _, c := range logins.Lookup(repository) {
			got = append(got, c.Auth.Username)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", repository, d)
		}
	}
	entries["docker.io"] = Login{Username: "own"}
	logins := Logins{}
	logins.Add(entries, Credential{})
	if got := logins.Lookup("docker.io/library/busybox"); len(got) != 1 || got[0].Auth.Username != "own" {
		t.Errorf("an entry for docker.io itself: %v", got)
	}
}

func TestFileKeyring(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	rec := tracetest.New(t)
	k := NewFileKeyring(root, rec.Bus())
	lookup := func() string {
		a := k.Lookup("r.io/app")
		if len(a) == 0 {
			return ""
		}
		return a[0].Username + ":" + a[0].Password
	}
	put := func(name, data string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want string) {
		t.Helper()
		if got := lookup(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}

	want("")
	put(filepath.Join(home, ".dockercfg"), `{"r.io":{"username":"old","password":"pw"}}`)
	want("old:pw")
	put(filepath.Join(home, ".docker/config.json"), `{"auths":{"r.io":{"auth":"dXNlcjpwYXNzOndvcmQ="}}}`)
	want("user:pass:word")
	put(filepath.Join(root, "config.json"), `{"auths":{"r.io":{"username":"root","password":"pw"}}}`)
	want("root:pw")
	if logs := tracetest.Events[trace.Log](rec); len(logs) != 0 {
		t.Errorf("logs %+v", logs)
	}

	// An invalid file is skipped and reported, without its content.
	for _, data := range []string{`{"auths":"s3cret"`, `{"auths":{"r.io":{"auth":"s3cret!"}}}`} {
		put(filepath.Join(root, "config.json"), data)
		want("user:pass:word")
	}
	logs := tracetest.Events[trace.Log](rec)
	if len(logs) != 2 {
		t.Fatalf("logs %+v", logs)
	}
	for _, l := range logs {
		if l.Level != trace.LevelWarn || !strings.Contains(l.Message, root) || strings.Contains(l.Message, "s3cret") {
			t.Errorf("log %+v", l)
		}
	}
}
