package nodelogs

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// journal writes a program that behaves as journalctl: it knows the units that are given, and prints its arguments, or runs a script.
func journal(t *testing.T, script string, units ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journalctl")
	text := "#!/bin/sh\nif [ \"$1\" = --field=_SYSTEMD_UNIT ]; then printf '%s\\n' " + strings.Join(units, " ") + "; exit; fi\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const echo = `for a in "$@"; do printf '[%s]' "$a"; done`

func logs(t *testing.T) http.FileSystem {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plain": "of plain", "second.log": "of second", "third/third.log": "of third", "both": "the file", "both.log": "not this", "dir/other": "x", "syslog": "line",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return http.Dir(dir)
}

func ask(h *Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/logs/"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	http.StripPrefix("/logs/", h).ServeHTTP(w, r)
	return w
}

func TestServe(t *testing.T) {
	h := New(Config{Files: logs(t), Program: journal(t, echo, "kubelet.service", "containerd.service", "session-1.scope")})
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"syslog", 200, "line"},
		{"", 200, `<a href="syslog">`},
		{"none", 404, ""},
		{"?unknown=1", 200, `<a href="syslog">`},
		{"?query=kubelet", 200, "[--utc][--no-pager][--output=short-precise][--unit=kubelet]"},
		{"?query=kubelet&query=containerd&tailLines=2", 200, "[--lines=2][--unit=kubelet][--unit=containerd]"},
		{"?query=kubelet.service", 200, "[--unit=kubelet.service]"},
		{"?query=d", 200, "\nlog not found for d\n"}, // the end of a unit's name is no unit
		{"?query=session-1", 200, "\nlog not found for session-1\n"},
		{"?query=plain", 200, "of plain"},
		{"?query=second", 200, "of second"},
		{"?query=third", 200, "of third"},
		{"?query=both", 200, "the file"},
		{"?query=dir", 200, "\nlog not found for dir\n"},
		{"?query=kubelet&query=plain", 200, "[--unit=kubelet]of plain"},
		{"?query=plain&tailLines=1", 200, "\noptions present and query resolved to log files for [plain]\ntry without specifying options\n"},
		{"?query=kubelet&query=plain&boot=0", 200, "[--boot=0]\noptions present and query resolved to log files for [plain]\n"},
		{"?query=/syslog", 200, "line"},
		{"?query=third/third.log", 200, "of third"},
		{"?query=/dir", 200, `<a href="other">`},
		{"?query=/dir/", 200, `<a href="other">`},
		{"?query=/", 200, `<a href="syslog">`},
		{"?query=/none", 404, `query: Not found: "none"`},
		{"?query=/syslog/", 404, `query: Not found: "syslog/"`}, // a redirect would lead out of /logs/
		{"?query=/../../etc/passwd", 404, "Not found"},
		{"syslog?query=kubelet", 406, "path not allowed in query mode"},
		{"?query=a%3Bb", 400, "input contains unsupported characters"},
		{"?query=kubelet&boot=2", 400, "must be less than 1"},
	} {
		w := ask(h, c.path)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %q, want %d %q", c.path, w.Code, w.Body, c.code, c.want)
		}
	}
}

func TestCompressed(t *testing.T) {
	h := New(Config{Files: logs(t), Program: journal(t, echo, "kubelet.service")})
	w := ask(h, "?query=kubelet", "Accept-Encoding", "gzip")
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || !strings.HasSuffix(string(text), "[--unit=kubelet]") || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("%q, %v, %v", text, err, w.Header())
	}
}

// What journalctl says of errors is part of the answer, as much of it as is bounded. A node without journalctl has files only.
func TestJournalErrors(t *testing.T) {
	h := New(Config{Files: logs(t), Program: journal(t, `echo out; echo "Specifying boot ID has no effect" >&2; exit 1`, "kubelet.service")})
	if got := ask(h, "?query=kubelet").Body.String(); got != "out\nSpecifying boot ID has no effect\n" {
		t.Errorf("%q", got)
	}
	h = New(Config{Files: logs(t), Program: journal(t, `i=0; while [ $i -lt 5000 ]; do echo 0123456789 >&2; i=$((i+1)); done`, "kubelet.service")})
	if got := ask(h, "?query=kubelet").Body.Len(); got > maxErrors+1 {
		t.Errorf("%d bytes of errors", got)
	}
	h = New(Config{Files: logs(t), Program: "/none/journalctl"})
	for query, want := range map[string]string{"kubelet": "\nlog not found for kubelet\n", "plain": "of plain"} {
		if got := ask(h, "?query="+query).Body.String(); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// An answer that is too long, or takes too long, ends with a line that says so, and journalctl ends.
func TestBounded(t *testing.T) {
	endless := journal(t, `echo $$ > "$0.pid"; while :; do echo line; done`, "kubelet.service")
	got := ask(New(Config{Files: logs(t), Program: endless, MaxOutput: 100}), "?query=kubelet").Body.String()
	if want := "the log is longer than 100 bytes: select less of it"; !strings.HasPrefix(got, strings.Repeat("line\n", 20)) || !strings.Contains(got, want) || len(got) > 300 {
		t.Errorf("%q, want %q", got, want)
	}
	over(t, endless)
	quiet := journal(t, `echo $$ > "$0.pid"; exec sleep 1000`, "kubelet.service")
	if got := ask(New(Config{Files: logs(t), Program: quiet, Limit: 500 * time.Millisecond}), "?query=kubelet").Body.String(); !strings.Contains(got, "error: the query took longer than 500ms") {
		t.Errorf("%q", got)
	}
	over(t, quiet)
}

// A list of units that is longer than what is read of it is no reason to wait.
func TestManyUnits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journalctl")
	text := "#!/bin/sh\nif [ \"$1\" = --field=_SYSTEMD_UNIT ]; then echo kubelet.service; exec yes session-1.scope; fi\n" + echo
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := ask(New(Config{Files: logs(t), Program: path}), "?query=kubelet").Body.String(); !strings.HasSuffix(got, "[--unit=kubelet]") {
		t.Errorf("%q", got)
	}
}

// over checks that a program has ended.
func over(t *testing.T, program string) {
	t.Helper()
	pid, err := os.ReadFile(program + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Errorf("process %s still runs", pid)
	}
}

// A client that goes away ends its query. Only a few queries run at once.
func TestClients(t *testing.T) {
	program := journal(t, `echo begun; exec sleep 1000`, "kubelet.service")
	h := New(Config{Files: logs(t), Program: program})
	s := httptest.NewServer(http.StripPrefix("/logs/", flushed{h}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range maxQueries {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/logs/?query=kubelet", nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Client().Do(req) // the first line is there
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		})
	}
	if w := ask(h, "?query=kubelet"); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), fmt.Sprintf("%d queries", maxQueries)) {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if w := ask(h, "syslog"); w.Code != http.StatusOK {
		t.Errorf("a file: %d %q", w.Code, w.Body)
	}
	cancel()
	all.Wait()
	for range maxQueries { // each gives its place away
		h.busy <- struct{}{}
	}
}

// flushed sends each piece of an answer at once, and without compression.
type flushed struct{ h http.Handler }

func (f flushed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Del("Accept-Encoding")
	f.h.ServeHTTP(flusher{w}, r)
}

type flusher struct{ http.ResponseWriter }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	return n, firstOf(err, http.NewResponseController(f.ResponseWriter).Flush())
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
