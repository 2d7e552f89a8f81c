package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Queries are for /logs/ only, and only if they are enabled; files are guarded in both cases.
func TestLogQueries(t *testing.T) {
	top := t.TempDir()
	program, dir := filepath.Join(top, "journalctl"), filepath.Join(top, "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		program: "#!/bin/sh\n[ $1 = --field=_SYSTEMD_UNIT ] && exec echo kubelet.service\necho \"$@\"\n", filepath.Join(dir, "syslog"): "line", filepath.Join(top, "secret"): "secret",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		enabled bool
		path    string
		code    int
		want    string
	}{
		{true, "?query=kubelet&tailLines=3", 200, "--lines=3 --unit=kubelet"},
		{true, "?query=/syslog", 200, "line"},
		{true, "?query=syslog", 200, "line"},
		{true, "?query=/out", 404, "Not found"},
		{true, "?query=out", 200, "log not found for out"},
		{true, "?query=../secret", 404, "Not found"},
		{true, "?query=a%3Bb", 400, "input contains unsupported characters"},
		{true, "syslog", 200, "line"},
		{false, "?query=kubelet", 200, `<a href="syslog">`},
		{false, "?query=a%3Bb", 200, `<a href="syslog">`},
	} {
		w := start(t, func(s *Config) { s.LogDir, s.Journalctl, s.Debug.LogQuery = dir, program, c.enabled })
		code, body := w.ask(t, "GET", "/logs/"+c.path, "root", "")
		if code != c.code || !strings.Contains(body, c.want) || strings.HasPrefix(body, "secret") {
			t.Errorf("%t %s: %d %q, want %d %q", c.enabled, c.path, code, body, c.code, c.want)
		}
	}
}
