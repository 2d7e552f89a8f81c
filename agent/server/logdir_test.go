package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Containers write below /var/log. Their files cannot lead out of it, block the server or use much memory.
func TestSystemLogs(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "log")
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(top, "secret"), "secret")
	put(filepath.Join(dir, "syslog"), "line")
	put(filepath.Join(dir, "pods/web/0.log"), "of web")
	for name, to := range map[string]string{
		"containers": "pods/web", "absolute": filepath.Join(dir, "pods/web/0.log"), "out": "../secret", "out-absolute": filepath.Join(top, "secret"),
		"root": "/", "loop": "loop", "device": "/dev/zero",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range maxEntries + 500 {
		put(filepath.Join(dir, "many", fmt.Sprintf("%05d", i)), "")
	}
	w := start(t, func(c *Config) { c.LogDir = dir })
	for path, want := range map[string]string{
		"syslog": "200 line", "pods/web/0.log": "200 of web", "containers/0.log": "200 of web", "absolute": "200 of web",
		"out": "404 ", "out-absolute": "404 ", "root/etc/passwd": "404 ", "root/": "404 ", "device": "404 ", "..%2fsecret": "404 ", "%2e%2e/secret": "404 ",
		"loop": "500 ", "fifo": "500 ", "none": "404 ",
	} {
		code, body := w.ask(t, "GET", "/logs/"+path, "root", "")
		if got := fmt.Sprintf("%d %s", code, body); !strings.HasPrefix(got, want) || strings.Contains(body, "secret") {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if code, body := w.ask(t, "GET", "/logs/many/", "root", ""); code != 200 || strings.Count(body, "<a ") != maxEntries {
		t.Errorf("%d with %d entries, want %d", code, strings.Count(body, "<a "), maxEntries)
	}
}

func TestLongProfiles(t *testing.T) {
	w := start(t, nil)
	for _, path := range []string{"profile", "trace", "heap", "goroutine"} {
		if code, body := w.ask(t, "GET", "/debug/pprof/"+path+"?seconds=601", "root", ""); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}
